#include "shoal/serve/engine/model_source.h"

#include <filesystem>
#include <set>
#include <utility>

#include "shoal/base/text/printable.h"
#include "shoal/engine/session/model.h"

namespace shoal::serve {
namespace {

constexpr std::string_view kZoo = "zoo:";
constexpr size_t kLongestName = 128;

bool is_name(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= kLongestName && name != "stats" && name[0] != '.' &&
         name.find_first_not_of(kLetters) == name.npos;
}

std::string name_of(std::string_view model) {
  if (model.starts_with(kZoo)) return std::string(model.substr(kZoo.size()));
  return std::filesystem::path(model).stem().string();
}

}  // namespace

Result<ModelSource> parse_model_source(std::string_view text) {
  ModelSource source;
  const size_t equals = text.find('=');
  const bool is_named = equals != text.npos && is_name(text.substr(0, equals));
  source.model = is_named ? text.substr(equals + 1) : text;
  source.name = is_named ? std::string(text.substr(0, equals)) : name_of(source.model);
  if (source.model.empty()) return invalid("a model is needed, or NAME=MODEL");
  if (!is_name(source.name)) {
    return invalid("'" + printable(source.name, 64) +
                   "' cannot be a name; give one: NAME=" + printable(source.model));
  }
  if (source.model == kDigitsModel) {
    source.preprocess = *find_preset("digits");
    for (char digit = '0'; digit <= '9'; ++digit) source.labels.emplace_back(1, digit);
  }
  return source;
}

Result<std::vector<ModelSource>> parse_model_sources(const std::vector<std::string>& texts) {
  std::vector<ModelSource> sources;
  std::set<std::string> names;
  for (const std::string& text : texts) {
    SHOAL_ASSIGN(ModelSource source, parse_model_source(text));
    if (!names.insert(source.name).second) {
      return invalid("two models are called " + source.name + "; name one: NAME=" + source.model);
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace shoal::serve
