// shoal load: clients for a server.
#include "shoal/serve/http/load.h"

#include <cstdio>
#include <sstream>

#include "apps/flags/json.h"
#include "cli.h"
#include "shoal/base/number_text.h"
#include "shoal/net/text_file.h"
#include "table.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal load http://127.0.0.1:8000 --model digits --clients 16 --seconds 10
  shoal load http://127.0.0.1:8000 --model digits --clients 64 --timeout 20000 --json
  shoal load https://server:8000 --model digits --key key.txt --trust cert.pem)";

struct LoadFlags {
  serve::LoadOptions options;
  std::string key_file, trusted_file;
  int clients = 1;
  double seconds = 5;
  bool json = false;
};

void print_json(const serve::LoadResult& result, const LoadFlags& flags) {
  const Json object = {
      {"model", flags.options.model},
      {"clients", flags.clients},
      {"seconds", result.seconds},
      {"answered", result.answered.count()},
      {"refused", result.refused.count()},
      {"failed", result.failed},
      {"answered_per_s", static_cast<double>(result.answered.count()) / result.seconds},
      {"mean_ms", result.answered.mean()},
      {"p50_ms", result.answered.quantile(0.5)},
      {"p90_ms", result.answered.quantile(0.9)},
      {"p99_ms", result.answered.quantile(0.99)},
      {"max_ms", result.answered.max()},
      {"refusal_p99_ms", result.refused.quantile(0.99)}};
  std::printf("%s\n", object.dump().c_str());
}

void print_table(const serve::LoadResult& result) {
  Table table({"answered", "refused", "failed", "per s", "p50 ms", "p90 ms", "p99 ms"});
  table.add({std::to_string(result.answered.count()), std::to_string(result.refused.count()),
             std::to_string(result.failed),
             fixed(static_cast<double>(result.answered.count()) / result.seconds, 1),
             fixed(result.answered.quantile(0.5), 3), fixed(result.answered.quantile(0.9), 3),
             fixed(result.answered.quantile(0.99), 3)});
  table.print();
}

// The first word of a file; nothing without one.
Result<std::string> key_in(const std::string& path) {
  std::string key;
  if (path.empty()) return key;
  SHOAL_ASSIGN(const std::string text, net::read_secret(path));
  std::istringstream(text) >> key;
  if (key.empty()) return invalid("there is no key in " + path);
  return key;
}

Outcome load(LoadFlags flags) {
  flags.options.clients = static_cast<size_t>(flags.clients);
  flags.options.time = std::chrono::duration<double>(flags.seconds);
  SHOAL_OR_EXIT(flags.options.key, Exit::kUsage, key_in(flags.key_file));
  if (!flags.trusted_file.empty()) {
    SHOAL_OR_EXIT(flags.options.trusted, Exit::kUsage, net::read_text(flags.trusted_file));
  }
  SHOAL_OR_EXIT(const serve::LoadResult result, Exit::kNetwork, serve::run_load(flags.options));
  if (flags.json) {
    print_json(result, flags);
  } else {
    print_table(result);
  }
  if (result.failed == 0) return {};
  return {Exit::kNetwork,
          std::to_string(result.failed) + " requests failed, the first: " + result.first_failure};
}

}  // namespace

void add_load(Command& app, Action& action) {
  auto flags = std::make_shared<LoadFlags>();
  Command* command = app.add_subcommand("load", "Send requests to a server and time the answers");
  command->footer(kExamples);
  command->add_option("url", flags->options.url, "http://HOST:PORT or https://HOST:PORT")
      ->required();
  command->add_option("--model", flags->options.model, "Name of the model")->required();
  command->add_option("--key", flags->key_file, "A file with the key that requests show");
  command->add_option(
      "--trust", flags->trusted_file,
      "Certificates (PEM) that the server's leads to; without: those of the system");
  command->add_option("--clients", flags->clients, "Each sends one request after another")
      ->check(in_range(1, 10'000))
      ->capture_default_str();
  command->add_option("--seconds", flags->seconds, "For so long")
      ->check(positive())
      ->capture_default_str();
  command
      ->add_option(
          "--rate", flags->options.rate,
          "Requests per second of all clients together; without: each sends its next one when it "
          "has an answer")
      ->check(positive());
  command->add_option("--items", flags->options.items, "Items of a request: its batch")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--timeout", flags->options.timeout_us,
                   "Microseconds that each request may take; 0: as the server says")
      ->check(not_negative());
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->callback([flags, &action] { action = [flags] { return load(*flags); }; });
}

}  // namespace shoal::cli
