// chimera completion: prints a completion script for the user's shell. It is
// generated from the command tree, so it is always up to date.
#include <memory>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
#include "chimera/cli/commands.h"
#include "chimera/config/presets.h"
#include "chimera/console/console.h"
#include "chimera/plan/builtin_profiles.h"
#include "chimera/schedule/lower.h"
#include "chimera/schedule/scheme.h"

namespace chimera {
namespace {

// The words that a flag accepts, if it accepts only a few.
std::string values_of(const std::string& command, const std::string& flag) {
  const auto words = [](Names names) {
    return join({names.begin(), names.end()}, " ");
  };
  if (flag == "--scale") return words(kScaleNames);
  if (flag == "--shape") return words(kShapeNames);
  if (flag == "--recompute") return "early late";
  if (flag == "--sync") return words(kSyncNames);
  if (flag == "--profile") return join(builtin_profile_names(), " ");
  if (flag == "--model-of") return "simulate paper";
  if ((command == "plan" || command == "simulate") && flag == "--model") {
    return words(preset_names());
  }
  if (flag != "--format") return "";
  if (command == "schedule") return "text sched json csv torch-csv svg";
  if (command == "simulate") return "text json trace svg";
  return "text json";
}

// The words that a subcommand accepts as positional argument.
std::string words_of(const std::string& command) {
  if (command == "schedule" || command == "simulate") {
    return join(scheme_names(), " ");
  }
  if (command == "init") return "slurm";
  if (command == "checkpoint") return "list verify";
  return command == "completion" ? "bash zsh" : "";
}

std::string bash_script(const Command& program) {
  std::vector<std::string> names;
  std::string cases;
  std::string value_cases;
  for (const auto& command : program.commands()) {
    const std::string name = command->name();
    names.push_back(name);
    const std::vector<std::string> flags = command->flags();
    cases += "    " + name + ") words=\"" + words_of(name) + " " +
             join(flags, " ") + "\" ;;\n";
    for (const std::string& flag : flags) {
      const std::string values = values_of(name, flag);
      if (values.empty()) continue;
      value_cases +=
          "    \"" + name + " " + flag + "\") words=\"" + values + "\" ;;\n";
    }
  }
  return "# bash completion for chimera: source this, or put it into\n"
         "# ~/.local/share/bash-completion/completions/chimera\n"
         "_chimera() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  local previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  local command=\"${COMP_WORDS[1]}\" words=\"\"\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    words=\"" +
         join(names, " ") +
         " --help --version\"\n"
         "  else\n"
         "    case \"$command\" in\n" +
         cases +
         "    esac\n"
         "    case \"$command $previous\" in\n" +
         value_cases +
         "    *\" -o\"|*\" --output\"|*\" --schedule\"|\"check check\") "
         "words=\"\" ;;\n"
         "    esac\n"
         "  fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _chimera chimera\n";
}

// zsh runs the bash script through its own compatibility layer.
std::string zsh_script(const Command& program) {
  return "#compdef chimera\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(program);
}

}  // namespace

void add_completion_command(Command& program) {
  Command& command = program.add_command(
      "completion", "Print a completion script for bash or zsh");
  const auto shell = std::make_shared<std::string>();
  command.add_value("shell", *shell, "bash or zsh", "SHELL");
  command.set_footer(
      "Examples:\n"
      "  source <(chimera completion bash)\n"
      "  chimera completion zsh > ~/.zfunc/_chimera\n");
  command.set_work([shell, &program](Values& values) -> int {
    if (shell->empty()) {
      values.refuse({.code = "E402",
                     .found = "the shell",
                     .needed = "is missing",
                     .hint = "chimera completion bash"});
    }
    const int which = values.choice("shell", *shell, {"bash", "zsh"});
    if (!values.errors().empty()) return print_errors(values.errors());
    write_result(which == 0 ? bash_script(program) : zsh_script(program), "");
    return kExitDone;
  });
}

}  // namespace chimera
