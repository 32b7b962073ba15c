// Json by nlohmann-json. This is the only source of the command line that includes it.
#include "apps/flags/json.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace shoal::cli {

// Json as nlohmann's, which knows how to read and write numbers and strings.
class JsonConverter {
 public:
  static Json read(const nlohmann::json& parsed) {
    if (parsed.is_boolean()) return parsed.get<bool>();
    if (parsed.is_number_unsigned()) return parsed.get<uint64_t>();
    if (parsed.is_number_integer()) return parsed.get<int64_t>();
    if (parsed.is_number()) return parsed.get<double>();
    if (parsed.is_string()) return parsed.get<std::string>();
    Json json;
    if (parsed.is_array()) {
      json = Json::array();
      for (const nlohmann::json& element : parsed) json.push_back(read(element));
    } else if (parsed.is_object()) {
      json = Json::object();
      for (const auto& [name, member] : parsed.items()) json[name] = read(member);
    }
    return json;
  }
  static nlohmann::json write(const Json& json) {
    return std::visit([](const auto& value) { return write(value); }, json.value_);
  }

 private:
  static nlohmann::json write(std::monostate) { return nullptr; }
  static nlohmann::json write(const Json::Elements& elements) {
    nlohmann::json array = nlohmann::json::array();
    for (const Json& element : elements) array.push_back(write(element));
    return array;
  }
  static nlohmann::json write(const Json::Members& members) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, member] : members) object[name] = write(member);
    return object;
  }
  template <class Scalar>
  static nlohmann::json write(const Scalar& value) {
    return value;
  }
};

Json::Json(std::initializer_list<Member> members) : value_(Members(members)) {}

Json Json::array(std::initializer_list<Json> elements) {
  Json array;
  array.value_ = Elements(elements);
  return array;
}

Result<Json> Json::parse(std::string_view text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return Status(Code::kCorrupt, "the text is no JSON");
  return JsonConverter::read(parsed);
}

Json& Json::operator[](const std::string& key) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Members();
  return std::get<Members>(value_)[key];
}

Json& Json::operator[](size_t index) { return std::get<Elements>(value_).at(index); }

void Json::push_back(Json element) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Elements();
  std::get<Elements>(value_).push_back(std::move(element));
}

void Json::update(const Json& other) {
  for (const auto& [name, member] : std::get<Members>(other.value_)) (*this)[name] = member;
}

std::string Json::dump(int indent) const {
  return JsonConverter::write(*this).dump(indent, ' ', /*ensure_ascii=*/false,
                                          nlohmann::json::error_handler_t::replace);
}

void print_json(const Json& json) { std::printf("%s\n", json.dump().c_str()); }

}  // namespace shoal::cli
