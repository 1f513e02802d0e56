#include "chimera/cli/command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "chimera/base/exit_codes.h"
#include "chimera/base/text.h"
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
  // The program itself says what it has, and what is near.
  if (app_->get_parent() != nullptr) app_->require_subcommand(1);
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

void Command::set_footer(const std::string& text) { app_->footer(text); }

void Command::set_work(const std::function<int(Values& values)>& work) {
  app_->allow_extras();
  app_->callback([this, work] {
    Values values;
    refuse_unknown(values);
    *exit_code_ = work(values);
  });
}

int Command::run(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with code 0.
    if (error.get_exit_code() == 0) return app_->exit(error);
    return print_errors({{.code = "E401", .found = error.what()}});
  }
  return app_->get_subcommands().empty() ? unknown_command() : *exit_code_;
}

int Command::unknown_command() const {
  const std::vector<std::string> rest = app_->remaining();
  if (rest.empty()) {
    std::cerr << app_->help();
    return kExitUsage;
  }
  std::vector<std::string> names;
  for (const auto& command : commands_) names.push_back(command->name());
  const std::string near = nearest_name(rest[0], names);
  return print_errors(
      {{.code = "E401",
        .found = "\"" + shown(rest[0]) + "\"",
        .needed = "is not a command",
        .hint = near.empty() ? "one of " + join(names, ", ")
                             : "did you mean \"" + near + "\"?"}});
}

// Each with the nearest flag.
void Command::refuse_unknown(Values& values) const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    names.push_back(option->get_name());
  }
  for (const std::string& extra : app_->remaining()) {
    const std::string near =
        extra.starts_with('-') ? nearest_name(extra, names) : "";
    values.refuse({.code = "E401",
                   .found = "\"" + shown(extra) + "\"",
                   .needed = "is not understood here",
                   .hint = near.empty() ? "see chimera " + name() + " --help"
                                        : "did you mean " + near + "?"});
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
