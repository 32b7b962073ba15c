#include "shoal/shrink/compress/units/target.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace shoal::compress {
namespace {

struct Name {
  std::string_view name;
  double Target::*number;
};

constexpr std::array kNames = {Name{"units", &Target::units}, Name{"macs", &Target::macs},
                               Name{"parameters", &Target::parameters},
                               Name{"bytes", &Target::bytes}};

Status parse_one(std::string_view text, Target& target) {
  const size_t sign = text.find('=');
  const std::string_view number =
      sign == std::string_view::npos ? std::string_view() : text.substr(sign + 1);
  double value = 0;
  const char* last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, value);
  if (number.empty() || error != std::errc() || end != last) {
    return invalid("a target is like macs=0.5, not " + std::string(text));
  }
  for (const Name& name : kNames) {
    if (name.name != text.substr(0, sign)) continue;
    target.*name.number = value;
    return {};
  }
  return invalid("a target is of units, macs, parameters or bytes, not of " +
                 std::string(text.substr(0, sign)));
}

bool within(int64_t now, int64_t before, double most) {
  const double limit = most > 1 ? most : most * static_cast<double>(before);
  return static_cast<double>(now) <= limit;
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  Target target;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    SHOAL_TRY(parse_one(text.substr(begin, comma - begin), target));
    begin = comma + 1;
  }
  SHOAL_TRY(check(target));
  return target;
}

Status check(const Target& target) {
  for (const Name& name : kNames) {
    // Also false for NaN.
    if (!(target.*name.number > 0)) {
      return invalid("the target of " + std::string(name.name) + " is not above 0");
    }
  }
  if (target.units > 1) return invalid("the target of units is a share in (0, 1]");
  return {};
}

Target part_way(const Target& target, const Size& before, double part) {
  const auto share = [part](double most, int64_t of) {
    const double all = static_cast<double>(std::max<int64_t>(of, 1));
    return std::pow(std::min(most > 1 ? most / all : most, 1.0), part);
  };
  return {.units = std::pow(target.units, part),
          .macs = share(target.macs, before.macs),
          .parameters = share(target.parameters, before.parameters),
          .bytes = share(target.bytes, before.bytes)};
}

// A number is above 1: what is to be a single one cannot be told from a share.
Target in_numbers(const Target& target, const Size& before) {
  const auto number = [](double most, int64_t of) {
    return most < 1 ? std::max(most * static_cast<double>(of), 1 + 1e-9) : most;
  };
  return {.units = target.units,
          .macs = number(target.macs, before.macs),
          .parameters = number(target.parameters, before.parameters),
          .bytes = number(target.bytes, before.bytes)};
}

bool meets(const Size& now, const Size& before, const Target& target) {
  return within(now.macs, before.macs, target.macs) &&
         within(now.parameters, before.parameters, target.parameters) &&
         within(now.bytes, before.bytes, target.bytes);
}

}  // namespace shoal::compress
