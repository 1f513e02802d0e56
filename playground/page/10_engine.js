// Computes in Web Workers, so that the page answers whatever is asked for and
// any computation can be cancelled.

class Cancelled extends Error {}

const compiledModule = (() => {
  const text = atob(document.getElementById('wasm').textContent);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  return WebAssembly.compile(bytes);
})();
const workerAddress = URL.createObjectURL(new Blob(
    [document.getElementById('worker').textContent],
    {type: 'text/javascript'}));

// One worker with one question at a time. A new question ends the one before.
class Engine {
  constructor(mostSeconds) {
    this.mostSeconds = mostSeconds;
    this.job = null;
    this.spawn();
  }

  spawn() {
    const worker = new Worker(workerAddress);
    this.worker = worker;
    this.ready = new Promise((resolve) => {
      worker.onmessage = ({data}) => {
        if (data.ready) return resolve();
        if (worker !== this.worker || this.job === null) return;
        if (data.progress) return this.job.onProgress(data.progress);
        if (data.failure) return this.fail(data.failure);
        this.end().resolve(data.answer);
      };
    });
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker === this.worker) this.fail(event.message);
    };
    compiledModule.then((module) => worker.postMessage({module}));
  }

  end() {
    const {job} = this;
    clearTimeout(job.timer);
    this.job = null;
    return job;
  }
  stop(error) {
    this.worker.terminate();
    this.spawn();
    if (this.job !== null) this.end().reject(error);
  }
  fail(text) {
    this.stop(new Error(
        /memory|OOM/i.test(text) ? 'This needs more memory than the page has.' :
                                   `Internal error: ${text}`));
  }
  cancel() {
    if (this.job !== null) this.stop(new Cancelled('cancelled'));
  }

  ask(question, onProgress = () => {}) {
    this.cancel();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
          () => this.stop(new Error(`This takes more than ${
              this.mostSeconds} seconds. Ask for less, or use the program.`)),
          1000 * this.mostSeconds);
      this.job = {resolve, reject, onProgress, timer};
      const {job} = this;
      this.ready.then(() => {
        if (this.job === job) this.worker.postMessage({question});
      });
    });
  }
}
