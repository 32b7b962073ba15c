// shoal operators: the supported operators and their properties.
#include <cstdio>

#include "cli.h"
#include "shoal/base/terminal/table.h"
#include "shoal/report/pages/operators_page.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal operators                  a table
  shoal operators --markdown       docs/reference/operators.md)";

struct Flags {
  bool markdown = false;
};

Outcome list_operators(const Flags& flags) {
  if (flags.markdown) {
    std::printf("%s", report::operators_page().c_str());
    return {};
  }
  const auto [header, rows] = report::operator_table();
  Table table(header);
  for (const auto& row : rows) table.add(row);
  table.print();
  return {};
}

}  // namespace

void add_operators(Command& app, Action& action) {
  const auto [command, flags] =
      add_command(app, action, "operators", "List the operators and what is known of them",
                  kExamples, list_operators);
  command.add_flag("--markdown", flags.markdown, "As a page of documentation");
}

}  // namespace shoal::cli
