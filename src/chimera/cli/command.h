// A command of the program: its flags, its help and its work. Flags are kept as
// typed; the work reads them through Values, so that all mistakes are reported
// at once.
//
// CLI11 is hidden behind this header, because every file that includes it
// compiles its whole parser.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chimera/console/values.h"

namespace CLI {
class App;
}

namespace chimera {

class Command {
 public:
  // The program itself, to which all commands are added.
  Command(const std::string& name, const std::string& help,
          const std::string& version);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  // Adds a subcommand, which lives as long as this one. A command with
  // subcommands must be called with one of them.
  Command& add_command(const std::string& name, const std::string& help);

  // Adds a flag. `names` as in "-o,--output"; without dashes it is a positional
  // argument. REQUIRES: `value` outlives the program.
  void add_value(const std::string& names, std::string& value,
                 const std::string& help, const std::string& type,
                 const std::string& group = "");
  // Adds a flag that may be given several times.
  void add_values(const std::string& names, std::vector<std::string>& values,
                  const std::string& help, const std::string& type);
  void add_switch(const std::string& names, bool& value,
                  const std::string& help, const std::string& group = "");
  // Adds a switch that may be followed by one of `choices`; by itself it means
  // the first of them.
  void add_choice(const std::string& name, std::string& value,
                  const std::vector<std::string>& choices,
                  const std::string& help, const std::string& group);
  void set_footer(const std::string& text);

  // Sets the function that does the command's work and returns its exit code.
  // `values` already holds a mistake for every word that the command does not
  // understand.
  void set_work(const std::function<int(Values& values)>& work);

  // Parses the command line and does the work of the command that was called.
  // `help COMMAND` is the same as `COMMAND --help`.
  int run(int argc, char** argv);

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<std::string> flags() const;  // long flags only
  [[nodiscard]] const std::vector<std::unique_ptr<Command>>& commands() const {
    return commands_;
  }

 private:
  Command(std::shared_ptr<CLI::App> app, std::shared_ptr<int> exit_code);

  [[nodiscard]] Command* find_command(const std::string& name) const;
  [[nodiscard]] int unknown_command(const std::string& word) const;
  // Removes from `words` the flags that the called command does not have, each
  // with its value, and flags without their value. The command records both as
  // mistakes.
  void set_mistakes_aside(std::vector<std::string>& words);
  [[nodiscard]] bool has_choice(const std::string& flag,
                                const std::string& word) const;
  void refuse_flag(const std::string& flag);
  // What the user may have meant by a flag that this command lacks.
  [[nodiscard]] std::string hint_for(const std::string& flag) const;
  void refuse_extra_words(Values& values) const;

  std::shared_ptr<CLI::App> app_;
  Diagnostics mistakes_;
  std::map<std::string, std::vector<std::string>> choices_;  // [flag]
  std::shared_ptr<int> exit_code_;  // exit code of the program
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace chimera
