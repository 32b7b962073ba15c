#include "shoal/engine/inputs/presets.h"

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/text/json_text.h"

namespace shoal {
namespace {

constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
constexpr size_t kLongestName = 64;

Status check_name(std::string_view name) {
  const bool plain = !name.empty() && name.size() <= kLongestName &&
                     name.find_first_not_of(kNameCharacters) == name.npos;
  return plain ? Status() : invalid("a preset's name holds letters, digits, - and _ only");
}

// Calls member(name, field) for each member of a preset. One list for reading and writing.
template <class How, class Member>
Status each_member(How& how, const Member& member) {
  SHOAL_TRY(member("resize", how.resize));
  SHOAL_TRY(member("crop", how.crop));
  SHOAL_TRY(member("stretch", how.stretch));
  SHOAL_TRY(member("mean", how.mean));
  SHOAL_TRY(member("std", how.std));
  SHOAL_TRY(member("channels", how.channels));
  SHOAL_TRY(member("scale", how.scale));
  SHOAL_TRY(member("bgr", how.bgr));
  return member("nhwc", how.nhwc);
}

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(const std::vector<float>& values) {
  std::string list;
  for (float value : values) list += (list.empty() ? "" : ",") + json_number(value);
  return "[" + list + "]";
}

Status read(JsonText& json, bool& value) {
  SHOAL_ASSIGN(value, json.boolean());
  return {};
}
Status read(JsonText& json, int64_t& value) {
  SHOAL_ASSIGN(value, json.integer());
  return {};
}
Status read(JsonText& json, std::vector<float>& values) {
  std::vector<double> numbers;
  SHOAL_TRY(json.numbers(numbers));
  values.clear();
  for (double number : numbers) values.push_back(static_cast<float>(number));
  return {};
}

}  // namespace

std::string to_json(const Preprocess& how) {
  std::string members;
  static_cast<void>(each_member(how, [&](std::string_view name, const auto& value) {
    members += (members.empty() ? "" : ",\n  ") + json_text(name) + ": " + text_of(value);
    return Status();
  }));
  return "{\n  " + members + "\n}\n";
}

Result<Preprocess> parse_preset(std::string_view text) {
  Preprocess how;
  JsonText json(text, "preset");
  const auto read_member = [&](const std::string& key) {
    bool known = false;
    Status status = each_member(how, [&](std::string_view name, auto& value) {
      if (name != key) return Status();
      known = true;
      return read(json, value);
    });
    return known ? status : Status(Code::kCorrupt, "unknown setting " + key);
  };
  SHOAL_TRY(json.object(read_member));
  SHOAL_TRY(json.end());
  return how;
}

Result<Preprocess> load_preset(const std::filesystem::path& folder, const std::string& name) {
  if (const auto known = find_preset(name)) return *known;
  SHOAL_TRY(check_name(name));
  const std::filesystem::path path = folder / (name + ".json");
  const auto file = MappedFile::open(path);
  if (file.status().code() == Code::kNotFound) {
    return Status(Code::kNotFound,
                  "no preset " + name + "; there are imagenet, digits, yolo and those you saved");
  }
  if (!file.ok()) return file.status();
  const auto bytes = (*file)->bytes();
  auto how = parse_preset({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!how.ok()) return how.status().at(path.string());
  return how;
}

Status save_preset(const std::filesystem::path& folder, const std::string& name,
                   const Preprocess& how) {
  SHOAL_TRY(check_name(name));
  SHOAL_TRY(make_folder(folder));
  return write_file(folder / (name + ".json"), to_json(how));
}

}  // namespace shoal
