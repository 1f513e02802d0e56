// chimera train, verify, export, sample, eval, calibrate, doctor: their flags
// and help. The work is in commands/, behind load_run_module().
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/cli/commands.h"
#include "chimera/commands/run_module.h"
#include "chimera/console/console.h"

namespace chimera {
namespace {

using Entry = int (*RunModule::*)(const RunRequest&);

// Adds a command whose work is `entry` of the module.
Command& add_run_command(Command& program, const char* name, const char* help,
                         Entry entry,
                         const std::shared_ptr<RunRequest>& request) {
  Command& command = program.add_command(name, help);
  command.set_work([entry, request](const Values& values) {
    if (!values.errors().empty()) return print_errors(values.errors());
    const RunModule* module = load_run_module();
    return module == nullptr ? kExitUsage : (module->*entry)(*request);
  });
  return command;
}

void add_config_flags(Command& command, RunRequest& request) {
  command.add_value("-c,--config", request.config, "the run.toml; needed",
                    "FILE");
  command.add_values("--set", request.overrides,
                     "change a key of the run.toml; may be repeated",
                     "SECTION.KEY=VALUE");
}

void add_tokenizer_flag(Command& command, RunRequest& request) {
  command.add_value("--tokenizer", request.tokenizer,
                    "a path, or bytes (default: the model's own)", "PATH");
}

void add_model_flags(Command& command, RunRequest& request) {
  add_tokenizer_flag(command, request);
  command.add_value("--format", request.format, "text (default) or json", "F");
}

}  // namespace

void add_train_command(Command& program) {
  auto request = std::make_shared<RunRequest>();
  Command& command =
      add_run_command(program, "train", "Train a model as a run.toml describes",
                      &RunModule::train, request);
  add_config_flags(command, *request);
  command.add_value("--run-dir", request->run_dir,
                    "where to write (default run.dir, else runs/<time>)",
                    "DIR");
  command.add_switch("--resume", request->resume,
                     "continue from the run directory's newest checkpoint");
  command.add_switch("--dry-run", request->dry_run,
                     "check everything, predict time, memory and disk, and "
                     "write nothing");
  command.set_footer(
      "The line of a step shows:\n"
      "  loss    mean over the target tokens of the step\n"
      "  tok/s   tokens of the step divided by its time\n"
      "  MFU     arithmetic of the model (forward and backward, no "
      "recomputation)\n"
      "          relative to what the cores reach in large matrix products,\n"
      "          measured when the run starts\n"
      "  ms      time from the end of the last step to the end of this one\n"
      "  bubble  share of that time in which workers did not compute, "
      "averaged\n"
      "          over workers: idle, waiting for messages, sums or a core\n"
      "metrics.jsonl has these, the gradient norm and the learning rate.\n"
      "\n"
      "The run directory gets config.toml, machine.json, metrics.jsonl,\n"
      "events.jsonl, state.json, with run.trace also trace.json and "
      "timeline.svg\n"
      "(plan and run), with run.tensorboard tensorboard/, and at the end\n"
      "memory.json and weights/, a Hugging Face directory. Its path is "
      "printed\n"
      "on stdout. With run.save_every, and on SIGTERM or SIGUSR1, also\n"
      "checkpoints/. --resume continues from the newest one, under any "
      "layout;\n"
      "without one it starts at the first step. Ctrl-C ends the run after the\n"
      "step. docs/configuration.md lists every key.\n"
      "\nExamples:\n"
      "  chimera train -c examples/gpt2_tiny.toml --dry-run\n"
      "  chimera train -c examples/gpt2_tiny.toml\n"
      "  chimera train -c run.toml --set schedule.scheme=1f1b --set "
      "train.steps=20");
}

void add_verify_command(Command& program) {
  auto request = std::make_shared<RunRequest>();
  Command& command =
      add_run_command(program, "verify",
                      "Prove that a layout trains exactly as the unsplit model",
                      &RunModule::verify, request);
  add_config_flags(command, *request);
  command.add_value("--steps", request->steps, "steps to compare (default 3)",
                    "K");
  command.add_value("--dtype", request->dtype,
                    "float32 (default; bf16 runs in bf16) or float64", "T");
  command.set_footer(
      "Loss and gradients of every step are compared with the unsplit model's\n"
      "on the same weights and samples, tensor by tensor, and replicas of a\n"
      "stage bit by bit. Exit code 0: equal; 1: different.\n"
      "\nExample:\n"
      "  chimera verify -c examples/gpt2_tiny.toml --dtype float64");
}

void add_export_command(Command& program) {
  auto request = std::make_shared<RunRequest>();
  Command& command = add_run_command(program, "export",
                                     "Write a run's weights for Hugging Face",
                                     &RunModule::export_weights, request);
  command.add_value("run_dir", request->run_dir, "what `train` has written",
                    "RUN_DIR");
  command.add_value("-o,--output", request->output,
                    "the directory to create; needed", "HF_DIR");
  add_tokenizer_flag(command, *request);
  command.set_footer(
      "transformers reads it: from_pretrained(HF_DIR) of GPT2LMHeadModel,\n"
      "BertForPreTraining, LlamaForCausalLM and its relatives, and of\n"
      "AutoTokenizer, as the tokenizer's files go with it.\n"
      "\nExample:\n"
      "  chimera export runs/mine -o mine-hf");
}

void add_sample_command(Command& program) {
  auto request = std::make_shared<RunRequest>();
  Command& command = add_run_command(
      program, "sample", "Generate text with a trained GPT-2 or Llama",
      &RunModule::sample, request);
  command.add_value("model", request->run_dir,
                    "what `train` has written, or a Hugging Face directory",
                    "RUN_DIR|HF_DIR");
  command.add_value("--prompt", request->prompt, "how the text begins", "TEXT");
  command.add_value("--tokens", request->tokens,
                    "number of tokens to generate (default 100)", "K");
  command.add_value("--temperature", request->temperature,
                    "below 1: safer, above: wilder, 0: always the most "
                    "probable token (default 0.8)",
                    "T");
  command.add_value("--top-k", request->top_k,
                    "choose among the K most probable tokens only", "K");
  command.add_value("--top-p", request->top_p,
                    "choose among the fewest tokens whose probabilities sum "
                    "to P (default 1)",
                    "P");
  command.add_value("--seed", request->seed,
                    "the same seed gives the same text (default 0)", "N");
  command.add_switch("--stream", request->stream,
                     "print every token as soon as it is chosen");
  add_model_flags(command, *request);
  command.set_footer(
      "The text ends early if the model writes its end-of-document token. A\n"
      "text longer than the model sees at once continues from the last half\n"
      "of what it sees.\n"
      "\nExamples:\n"
      "  chimera sample runs/mine --prompt \"Once upon a time\" --stream\n"
      "  chimera sample Qwen3-0.6B --prompt \"The capital of France is\" "
      "--temperature 0");
}

void add_eval_command(Command& program) {
  auto request = std::make_shared<RunRequest>();
  Command& command = add_run_command(
      program, "eval", "Compute the loss of a trained model on a file",
      &RunModule::eval, request);
  command.add_value("model", request->run_dir,
                    "what `train` has written, or a Hugging Face directory",
                    "RUN_DIR|HF_DIR");
  command.add_value("--data", request->data,
                    "text, JSONL or .bin, as data.path (docs/data.md); needed",
                    "FILE");
  command.add_value("--seq", request->seq,
                    "tokens of a sample (default: the run's, or what the "
                    "model sees at once, at most 1024)",
                    "T");
  add_model_flags(command, *request);
  command.set_footer(
      "Prints the mean loss over all samples of the file, its exponential "
      "(the\n"
      "perplexity) and the speed, on all cores and without a pipeline. For a\n"
      "BERT it is the loss of masked tokens and next sentences.\n"
      "\nExamples:\n"
      "  chimera eval runs/mine --data held-out.txt\n"
      "  chimera eval Qwen3-0.6B --data book.bin --seq 512 --format json");
}

void add_calibrate_command(Command& program) {
  auto request = std::make_shared<RunRequest>();
  Command& command =
      add_run_command(program, "calibrate",
                      "Measure a model on this machine, for plan and simulate",
                      &RunModule::calibrate, request);
  add_config_flags(command, *request);
  command.add_value("-o,--output", request->output,
                    "the profile.toml (default: stdout)", "FILE");
  command.add_value("--micro-batches", request->micro_batches,
                    "sizes to measure, separated by commas (default: 1 and "
                    "half, once and twice the run's)",
                    "LIST");
  command.set_footer(
      "Measures one layer of each kind at several micro-batch sizes, by one\n"
      "worker alone and with all cores busy; the update; messages between two\n"
      "workers, and sums over several. It uses as many workers as the "
      "run.toml\n"
      "has, as threads (at most 8) or, under mpirun, as processes. It takes a\n"
      "few minutes at most and refuses what does not fit into memory. Nothing\n"
      "else should run meanwhile.\n"
      "\nExamples:\n"
      "  chimera calibrate -c run.toml -o profile.toml\n"
      "  mpirun -n 2 chimera calibrate -c run.toml -o profile.toml\n"
      "  chimera simulate --model run.toml --profile profile.toml --steps 4");
}

void add_doctor_command(Command& program) {
  Command& command = add_run_command(
      program, "doctor", "Try out what this machine and build can do",
      &RunModule::doctor, std::make_shared<RunRequest>());
  command.set_footer(
      "Prints versions, cores, memory, the speed of matrix products and the\n"
      "transports, then tries libtorch, a pipeline of four workers, and "
      "writing\n"
      "in this directory. Exit code 0 if all of it works.\n"
      "\nExample:\n"
      "  chimera doctor");
}

}  // namespace chimera
