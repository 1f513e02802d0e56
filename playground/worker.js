// Runs in a Web Worker behind emscripten's script: takes a compiled module,
// then questions; sends back answers, and the progress of searches.

let chimera = null;

function tellProgress(share, best) {
  postMessage({progress: {share, best}});
}

async function start(module) {
  chimera = await startChimera({
    instantiateWasm: (imports, done) => {
      WebAssembly.instantiate(module, imports)
          .then((instance) => done(instance, module));
      return {};
    }
  });
}

function answer(question) {
  const text = JSON.stringify(question);
  const size = chimera.lengthBytesUTF8(text) + 1;
  const place = chimera._malloc(size);
  chimera.stringToUTF8(text, place, size);
  const reply = chimera.UTF8ToString(chimera._chimera_answer(place));
  chimera._free(place);
  return JSON.parse(reply);
}

onmessage = async ({data}) => {
  try {
    if (data.module)
      await start(data.module);
    else
      postMessage({answer: answer(data.question)});
  } catch (error) {
    postMessage({failure: String(error && error.message || error)});
  }
  if (data.module) postMessage({ready: true});
};
