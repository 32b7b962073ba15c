#include "shoal/video/faces/recognition/database.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/text/json_text.h"
#include "shoal/base/text/printable.h"

namespace shoal::faces {
namespace {

constexpr std::string_view kFormat = "shoal-faces-1";
constexpr size_t kMostBytes = size_t{1} << 31;

Status check_name(const std::string& name) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
  if (!name.empty() && name.size() <= FaceDatabase::kLongestName &&
      std::ranges::none_of(name, control)) {
    return {};
  }
  return invalid("\"" + printable(name) +
                 "\" is no name: 1 to 256 bytes without control characters");
}

Embedding mean_of(const Person& person) {
  const std::vector<float> sum(person.sum.begin(), person.sum.end());
  return normalised(sum);
}

bool has_direction(std::span<const double> v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::isfinite(sum) && sum > 0;
}

std::string hexadecimal(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
  return text;
}

Result<uint64_t> parse_hexadecimal(const std::string& text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() != 16 || !std::ranges::all_of(text, digit)) {
    return Status(Code::kCorrupt, "faces: \"model\" is not 16 hexadecimal digits");
  }
  return std::stoull(text, nullptr, 16);
}

Status corrupt(const std::string& what) { return {Code::kCorrupt, "faces: " + what}; }

Result<Person> parse_person(JsonText& json) {
  Person person;
  SHOAL_TRY(json.object([&](const std::string& key) -> Status {
    if (key == "faces") return json.number(person.faces);
    if (key == "sum") {
      return json.list([&]() -> Status {
        if (person.sum.size() == FaceDatabase::kMostDims) return corrupt("too long an embedding");
        return json.number(person.sum.emplace_back());
      });
    }
    if (key != "name") return corrupt("a person has a member " + printable(key));
    SHOAL_ASSIGN(person.name, json.text());
    return {};
  }));
  return person;
}

}  // namespace

Status FaceDatabase::add(Person person) {
  SHOAL_TRY(check_name(person.name));
  if (person.faces == 0 || person.sum.empty() || person.sum.size() > kMostDims ||
      !has_direction(person.sum)) {
    return invalid(printable(person.name) + " has no embedding");
  }
  if (dims_ != 0 && person.sum.size() != dims_) {
    return invalid("embeddings of " + std::to_string(person.sum.size()) +
                   " elements, where others have " + std::to_string(dims_));
  }
  if (people_.size() >= most_) {
    return {Code::kExhausted, "the database is full: " + std::to_string(most_) + " people"};
  }
  const auto at = std::ranges::lower_bound(people_, person.name, {}, &Person::name);
  if (at != people_.end() && at->name == person.name) {
    return invalid(printable(person.name) + " is there twice");
  }
  dims_ = person.sum.size();
  people_.insert(at, std::move(person));
  return {};
}

Status FaceDatabase::enrol(const std::string& name, std::span<const float> face) {
  const Embedding unit = normalised(face);
  const std::vector<double> sum(unit.begin(), unit.end());
  const auto at = std::ranges::find(people_, name, &Person::name);
  if (at == people_.end()) return add({.name = name, .faces = 1, .sum = sum});
  if (sum.size() != dims_ || !has_direction(sum)) {
    return invalid("a face of " + printable(name) + " has no embedding of " +
                   std::to_string(dims_) + " elements");
  }
  std::vector<double> all = at->sum;
  for (size_t i = 0; i < sum.size(); ++i) all[i] += sum[i];
  if (!has_direction(all)) return invalid("the faces of " + printable(name) + " have no mean");
  ++at->faces;
  at->sum = std::move(all);
  return {};
}

bool FaceDatabase::forget(const std::string& name) {
  const bool there =
      std::erase_if(people_, [&](const Person& person) { return person.name == name; }) > 0;
  if (people_.empty()) dims_ = 0;
  return there;
}

std::optional<Match> FaceDatabase::nearest(std::span<const float> face) const {
  std::optional<Match> best;
  if (face.size() != dims_) return best;
  const Embedding unit = normalised(face);
  for (const Person& person : people_) {
    const double away = distance(mean_of(person), unit);
    if (!best || away < best->distance) best = Match{person.name, away};
  }
  return best;
}

std::optional<Match> FaceDatabase::who(std::span<const float> face) const {
  auto best = nearest(face);
  if (best && best->distance > threshold_) best.reset();
  return best;
}

Status FaceDatabase::set_threshold(double threshold) {
  if (!(threshold >= 0 && threshold <= 4)) return invalid("a threshold is between 0 and 4");
  threshold_ = threshold;
  return {};
}

std::string to_text(const FaceDatabase& database) {
  const size_t dims = database.people().empty() ? 0 : database.people()[0].sum.size();
  std::string text = "{\"format\": " + json_text(kFormat) +
                     ", \"model\": " + json_text(hexadecimal(database.model())) +
                     ", \"dims\": " + std::to_string(dims) +
                     ", \"threshold\": " + json_number(database.threshold()) + ", \"people\": [";
  for (size_t i = 0; i < database.people().size(); ++i) {
    const Person& person = database.people()[i];
    text += (i > 0 ? ",\n{" : "\n{") + std::string("\"name\": ") + json_text(person.name) +
            ", \"faces\": " + std::to_string(person.faces) + ", \"sum\": [";
    for (size_t k = 0; k < person.sum.size(); ++k) {
      text += (k > 0 ? "," : "") + json_number(person.sum[k]);
    }
    text += "]}";
  }
  return text + "]}\n";
}

Result<FaceDatabase> parse_database(std::string_view text) {
  JsonText json(text, "faces");
  FaceDatabase database;
  std::string format;
  std::vector<Person> people;
  size_t dims = 0;
  double threshold = -1;
  SHOAL_TRY(json.object([&](const std::string& key) -> Status {
    if (key == "dims") return json.number(dims);
    if (key == "threshold") return json.number(threshold);
    if (key == "people") {
      return json.list([&]() -> Status {
        SHOAL_ASSIGN(Person person, parse_person(json));
        people.push_back(std::move(person));
        return people.size() <= FaceDatabase::kMost ? Status() : corrupt("too many people");
      });
    }
    if (key != "format" && key != "model") return corrupt("a member " + printable(key));
    SHOAL_ASSIGN(const std::string value, json.text());
    if (key == "format") {
      format = value;
      return {};
    }
    SHOAL_ASSIGN(database.model_, parse_hexadecimal(value));
    return {};
  }));
  SHOAL_TRY(json.end());
  if (format != kFormat) return corrupt("the format is not " + std::string(kFormat));
  if (!database.set_threshold(threshold).ok()) return corrupt("no threshold between 0 and 4");
  std::ranges::sort(people, {}, &Person::name);  // each is then added at the end
  for (Person& one : people) {
    if (one.sum.size() != dims) return corrupt("an embedding is not of \"dims\" elements");
    const Status added = database.add(std::move(one));
    if (!added.ok()) return corrupt(std::string(added.message()));
  }
  return database;
}

Status save(const FaceDatabase& database, const std::filesystem::path& file) {
  return write_file(file, to_text(database), {.readers = FileOptions::Readers::kOwner});
}

Result<FaceDatabase> load_database(const std::filesystem::path& file) {
  SHOAL_ASSIGN(const auto mapped, MappedFile::open(file));
  const auto bytes = mapped->bytes();
  if (bytes.size() > kMostBytes) return corrupt(file.string() + " is too large");
  auto parsed = parse_database({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed.ok()) return parsed.status().at(file.string());
  return parsed;
}

}  // namespace shoal::faces
