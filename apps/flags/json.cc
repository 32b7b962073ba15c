// Json by nlohmann-json. This is the only source of the command line that writes it.
#include "apps/flags/json.h"

#include <nlohmann/json.hpp>

namespace shoal::cli {

// Json as nlohmann's, which knows how to write numbers and strings.
class JsonWriter {
 public:
  static nlohmann::json convert(const Json& json) {
    return std::visit([](const auto& value) { return convert(value); }, json.value_);
  }

 private:
  static nlohmann::json convert(std::monostate) { return nullptr; }
  static nlohmann::json convert(const Json::Elements& elements) {
    nlohmann::json array = nlohmann::json::array();
    for (const Json& element : elements) array.push_back(convert(element));
    return array;
  }
  static nlohmann::json convert(const Json::Members& members) {
    nlohmann::json object = nlohmann::json::object();
    for (const auto& [name, member] : members) object[name] = convert(member);
    return object;
  }
  template <class Scalar>
  static nlohmann::json convert(const Scalar& value) {
    return value;
  }
};

Json::Json(std::initializer_list<Member> members) : value_(Members(members)) {}

Json Json::array(std::initializer_list<Json> elements) {
  Json array;
  array.value_ = Elements(elements);
  return array;
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
  return JsonWriter::convert(*this).dump(indent, ' ', /*ensure_ascii=*/false,
                                         nlohmann::json::error_handler_t::replace);
}

}  // namespace shoal::cli
