#include "chimera/cli/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <iostream>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
#include "chimera/config/keys.h"
#include "chimera/console/console.h"

namespace chimera {

Command::Command(const std::string& name, const std::string& help,
                 const std::string& version)
    : app_(std::make_shared<CLI::App>(help, name)),
      exit_code_(std::make_shared<int>(kExitUsage)) {
  app_->set_version_flag("--version", version);
  app_->allow_extras();
}

Command::Command(std::shared_ptr<CLI::App> app, std::shared_ptr<int> exit_code)
    : app_(std::move(app)), exit_code_(std::move(exit_code)) {}

Command::~Command() = default;

Command& Command::add_command(const std::string& name,
                              const std::string& help) {
  CLI::App* added = app_->add_subcommand(name, help);
  commands_.push_back(std::unique_ptr<Command>(
      new Command(app_->get_subcommand_ptr(added), exit_code_)));
  return *commands_.back();
}

void Command::add_value(const std::string& names, std::string& value,
                        const std::string& help, const std::string& type,
                        const std::string& group) {
  CLI::Option* option = app_->add_option(names, value, help)->type_name(type);
  if (!group.empty()) option->group(group);
}

void Command::add_values(const std::string& names,
                         std::vector<std::string>& values,
                         const std::string& help, const std::string& type) {
  app_->add_option(names, values, help)
      ->type_name(type)
      ->expected(1)
      ->take_all();
}

void Command::add_switch(const std::string& names, bool& value,
                         const std::string& help, const std::string& group) {
  CLI::Option* option = app_->add_flag(names, value, help);
  if (!group.empty()) option->group(group);
}

void Command::add_choice(const std::string& name, std::string& value,
                         const std::vector<std::string>& choices,
                         const std::string& help, const std::string& group) {
  app_->add_flag(name + "{" + choices.front() + "}", value, help)
      ->type_name("[" + join(choices, "|") + "]")
      ->group(group);
  choices_[name] = choices;
}

void Command::set_footer(const std::string& text) { app_->footer(text); }

void Command::set_work(const std::function<int(Values& values)>& work) {
  app_->allow_extras();
  app_->callback([this, work] {
    Values values;
    values.refuse(mistakes_);
    refuse_extra_words(values);
    *exit_code_ = work(values);
  });
}

int Command::run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.resize(std::min<std::size_t>(words.size(), 1));
    words.emplace_back("--help");
  }
  if (words.empty()) {
    std::cerr << app_->help();
    return kExitUsage;
  }
  const Command* called = this;
  for (std::size_t at = 0; !called->commands_.empty(); ++at) {
    const std::string word = at < words.size() ? words[at] : "";
    if (word == "--help" || word == "-h" || word == "--version") break;
    const Command* part = called->find_command(word);
    if (part == nullptr) return called->unknown_command(word);
    called = part;
  }
  set_mistakes_aside(words);
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes a reversed list
    app_->parse(words);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports --help and --version as errors with code 0.
    if (error.get_exit_code() == 0) return app_->exit(error);
    return print_errors({{.code = "E401", .found = error.what()}});
  }
  return *exit_code_;
}

Command* Command::find_command(const std::string& name) const {
  for (const auto& command : commands_) {
    if (command->name() == name) return command.get();
  }
  return nullptr;
}

int Command::unknown_command(const std::string& word) const {
  std::vector<std::string> names;
  for (const auto& command : commands_) names.push_back(command->name());
  const std::string near = nearest_name(word, names);
  if (word.empty()) {
    return print_errors({{.code = "E402",
                          .found = "what chimera " + name() + " is to do",
                          .needed = "is missing",
                          .hint = "one of " + join(names, ", ")}});
  }
  return print_errors(
      {{.code = "E401",
        .found = "\"" + shown(word) + "\"",
        .needed = "is not a command" +
                  (app_->get_parent() == nullptr ? "" : " of " + name()),
        .hint = near.empty() ? "one of " + join(names, ", ")
                             : "did you mean \"" + near + "\"?"}});
}

void Command::set_mistakes_aside(std::vector<std::string>& words) {
  // Takes flags that are mistakes out of the words, because CLI11 would stop at
  // the first one. It then reads the rest, and the command reports all mistakes
  // at once.
  const auto is_flag = [](const std::string& word) {
    const std::size_t name = word.find_first_not_of('-');
    return word.starts_with('-') && name != std::string::npos && name <= 2 &&
           std::isalpha(static_cast<unsigned char>(word[name])) != 0;
  };
  std::vector<std::string> known;
  Command* command = this;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") break;
    if (Command* part = command->find_command(word)) command = part;
    known.push_back(word);
    if (!is_flag(word)) continue;
    const std::string name = word.starts_with("--")
                                 ? word.substr(0, word.find('='))
                                 : word.substr(0, 2);
    const CLI::Option* option = command->app_->get_option_no_throw(name);
    const bool has_value = at + 1 < words.size() && !is_flag(words[at + 1]);
    const bool wants_value =
        option != nullptr && option->get_expected_max() > 0 && name == word;
    if (option == nullptr) {
      known.pop_back();
      command->refuse_flag(word);
      if (has_value && word.find('=') == std::string::npos) ++at;
    } else if (wants_value && !has_value) {
      known.pop_back();
      command->mistakes_.push_back(
          {.code = "E401", .found = word, .needed = "needs a value"});
    } else if (wants_value) {
      known.push_back(words[++at]);
    } else if (has_value && command->has_choice(word, words[at + 1])) {
      known.back() += "=" + words[++at];
    }
  }
  words = known;
}

bool Command::has_choice(const std::string& flag,
                         const std::string& word) const {
  const auto found = choices_.find(flag);
  return found != choices_.end() &&
         std::find(found->second.begin(), found->second.end(), word) !=
             found->second.end();
}

std::string Command::hint_for(const std::string& flag) const {
  // A key of the run.toml: --micro-batch is schedule.micro_batch.
  std::string key = flag.substr(std::min<std::size_t>(2, flag.size()));
  std::replace(key.begin(), key.end(), '-', '_');
  const std::vector<std::string> sections = sections_with(key);
  if (app_->get_option_no_throw("--set") != nullptr && !sections.empty()) {
    return fmt::format("did you mean --set {}.{}=VALUE?", sections[0], key);
  }
  const std::string near = nearest_name(flag, flags());
  return near.empty() ? "see chimera help " + name()
                      : "did you mean " + near + "?";
}

void Command::refuse_flag(const std::string& flag) {
  mistakes_.push_back({.code = "E401",
                       .found = shown(flag),
                       .needed = "is not a flag of chimera " + name(),
                       .hint = hint_for(flag.substr(0, flag.find('=')))});
}

void Command::refuse_extra_words(Values& values) const {
  const bool has_config = app_->get_option_no_throw("--config") != nullptr;
  for (const std::string& word : app_->remaining()) {
    const bool is_config = has_config && word.ends_with(".toml");
    values.refuse({.code = "E401",
                   .found = "\"" + shown(word) + "\"",
                   .needed = "is not understood here",
                   .hint = is_config ? "did you mean -c " + shown(word) + "?"
                                     : "see chimera help " + name()});
  }
}

std::string Command::name() const { return app_->get_name(); }

std::vector<std::string> Command::flags() const {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app_->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  return flags;
}

}  // namespace chimera
