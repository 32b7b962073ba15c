#include "shoal/serve/catalog/budgets.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace shoal::serve {
namespace {

// A name and a number. `example` is for the message.
Result<std::pair<std::string, double>> parse_amount(const std::string& flag,
                                                    const std::string& text,
                                                    const std::string& example) {
  const size_t equals = std::min(text.find('='), text.size());
  char* end = nullptr;
  const std::string digits = text.substr(std::min(equals + 1, text.size()));
  const double value = std::strtod(digits.c_str(), &end);
  if (digits.empty() || *end != 0 || !(value >= 0 && value <= 1e12)) {
    return invalid(flag + " " + text + ": write " + example);
  }
  return std::pair(text.substr(0, equals), value);
}

}  // namespace

Result<Allowed> parse_budgets(const std::string& flag, const std::vector<std::string>& texts) {
  Allowed allowed;
  for (const std::string& text : texts) {
    SHOAL_ASSIGN(const auto amount, parse_amount(flag, text, "energy=JOULES"));
    const auto& [name, value] = amount;
    if (name == "energy") {
      allowed.budgets.joules = value;
    } else if (name == "money") {
      allowed.budgets.dollars = value;
    } else if (name == "memory") {
      allowed.budgets.bytes = static_cast<int64_t>(value * 1e6);
    } else if (name == "latency") {
      allowed.latency_ms = value;
    } else if (name == "requests") {
      allowed.requests = value;
    } else if (name == "day") {
      allowed.budgets.seconds = value * 3600;
    } else {
      return invalid(flag + " takes energy, money, memory, latency, requests and day, not " + name);
    }
  }
  return allowed;
}

Status parse_costs(const std::string& flag, const std::vector<std::string>& texts,
                   schedule::Cloud& costs) {
  for (const std::string& text : texts) {
    SHOAL_ASSIGN(const auto amount, parse_amount(flag, text, "price=DOLLARS_AN_HOUR"));
    const auto& [name, value] = amount;
    if (name == "price") {
      costs.dollars_per_second = value / 3600;
    } else if (name == "mbit" && value > 0) {
      costs.bytes_per_second = value * 1e6 / 8;
    } else if (name == "radio") {
      costs.radio_watts = value;
    } else if (name == "speed" && value > 0) {
      costs.speed = value;
    } else if (name == "round-trip") {
      costs.round_trip_ms = value;
    } else {
      return invalid(flag + " takes price, mbit, radio, speed and round-trip, not " + text);
    }
  }
  return {};
}

}  // namespace shoal::serve
