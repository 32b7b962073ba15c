// The format: eight bytes with the length of the header, the JSON header, elements in the order of
// their offsets. The reader is strict: elements follow each other without a gap from the header to
// the end of the file, so every byte has one meaning.
//
// The checksum is of the header, with zeros in its own place, and of each tensor. It finds damage,
// not forgery.
#include "shoal/train/data/safetensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/limits.h"
#include "shoal/base/math/hash.h"
#include "shoal/base/text/json_text.h"
#include "shoal/model/tensor/bools.h"

namespace shoal {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";
constexpr const char* kChecksum = "shoal.checksum";
constexpr std::string_view kNoChecksum = "0000000000000000";

// In the order of DType.
constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "F32", "F64", "F16", "BF16", "I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64", "BOOL"};

Status corrupt(std::string message) { return Status(Code::kCorrupt, std::move(message)); }

struct Entry {
  std::string name;
  TensorType type;
  int64_t begin = 0, end = 0;  // of its elements, counted from the end of the header
};

std::string hex(uint64_t x) {
  std::array<char, 17> text;
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(x));
  return text.data();
}

// The checksum of the header, in which the place of the checksum holds zeros, and of all that
// follows.
std::string checksum_of(std::string_view header, std::span<const Tensor> tensors) {
  std::vector<uint64_t> hashes{hash_of(std::as_bytes(std::span(header)))};
  for (const Tensor& tensor : tensors) hashes.push_back(hash_of(tensor.bytes()));
  return hex(hash_of(std::as_bytes(std::span(hashes))));
}

std::string header_of(const TensorFile& file) {
  std::string text = "{" + json_text(kMetadata) + ":{" + json_text(kChecksum) + ":\"" +
                     std::string(kNoChecksum) + "\"";
  for (const auto& [key, value] : file.metadata) {
    text += "," + json_text(key) + ":" + json_text(value);
  }
  text += "}";
  size_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const std::string_view dtype = kNames[static_cast<size_t>(tensor.dtype())];
    text += "," + json_text(name) + ":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":[";
    for (size_t i = 0; i < tensor.shape().rank(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(tensor.shape()[i]);
    }
    const size_t end = offset + tensor.bytes().size();
    text += "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  text += "}";
  // Padding aligns the elements.
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  return text;
}

// {"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}
Result<Entry> parse_entry(JsonText& json, std::string name) {
  std::optional<DType> dtype;
  std::vector<int64_t> shape, offsets;
  SHOAL_TRY(json.object([&](const std::string& key) -> Status {
    if (key == "dtype") {
      SHOAL_ASSIGN(const std::string text, json.text());
      const auto position = std::ranges::find(kNames, text);
      if (position == kNames.end()) return corrupt(name + " has elements of type " + text);
      dtype = static_cast<DType>(position - kNames.begin());
      return {};
    }
    if (key == "shape") return json.integers(shape);
    if (key == "data_offsets") return json.integers(offsets);
    return corrupt(name + " has a " + key);
  }));
  // Counts come from the file: a Shape has room for eight dimensions only.
  if (!dtype || offsets.size() != 2 || shape.size() > Shape::kMaxRank) {
    return corrupt(name + " has no type, or its offsets are not two");
  }
  if (std::ranges::any_of(shape, [](int64_t d) { return d < 0; })) {
    return corrupt(name + " has a negative dimension");
  }
  Entry entry{std::move(name), {*dtype, Shape(shape)}, offsets[0], offsets[1]};
  SHOAL_TRY(check(entry.type).at(entry.name));
  return entry;
}

struct Header {
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
};

Result<Header> parse_header(std::string_view text) {
  Header header;
  JsonText json(text);
  SHOAL_TRY(json.object([&](const std::string& name) -> Status {
    if (name != kMetadata) {
      SHOAL_ASSIGN(Entry entry, parse_entry(json, name));
      header.entries.push_back(std::move(entry));
      return {};
    }
    return json.object([&](const std::string& key) -> Status {
      SHOAL_ASSIGN(header.metadata[key], json.text());
      return {};
    });
  }));
  SHOAL_TRY(json.end());
  return header;
}

// Elements follow each other without a gap, from the first byte to the last.
Status check_offsets(std::vector<Entry>& entries, size_t size) {
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  int64_t at = 0;
  for (const Entry& entry : entries) {
    // Offsets come from the file, and begin + bytes may overflow.
    const Checked end = Checked(entry.begin) + static_cast<int64_t>(entry.type.bytes());
    if (entry.begin != at || !end.ok() || entry.end != end.value()) {
      return corrupt(entry.name + " lies from byte " + std::to_string(entry.begin) + " to " +
                     std::to_string(entry.end) + ", which does not fit its type or the others");
    }
    at = entry.end;
  }
  if (static_cast<size_t>(at) != size) return corrupt("the file ends early or late");
  return {};
}

// Whether there is a checksum: files of others have none. It must be right if there is one.
Result<bool> verify_checksum(std::string_view header, const Header& parsed,
                             std::span<const Tensor> tensors) {
  const auto position = parsed.metadata.find(kChecksum);
  if (position == parsed.metadata.end()) return false;
  std::string text(header);
  const size_t place = text.find(json_text(kChecksum) + ":\"" + position->second + "\"");
  if (place == text.npos || position->second.size() != kNoChecksum.size()) {
    return corrupt("the checksum is none");
  }
  const size_t digits = place + json_text(kChecksum).size() + 2;
  text.replace(digits, kNoChecksum.size(), kNoChecksum);
  if (checksum_of(text, tensors) != position->second) return corrupt("the checksum is wrong");
  return true;
}

}  // namespace

Status write_safetensors(const std::filesystem::path& path, const TensorFile& file) {
  std::string header = header_of(file);
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : file.tensors) tensors.push_back(tensor);
  const std::string checksum = checksum_of(header, tensors);
  header.replace(header.find(kNoChecksum), checksum.size(), checksum);
  SHOAL_ASSIGN(AtomicFile out, AtomicFile::create(path));
  const auto length = static_cast<uint64_t>(header.size());
  SHOAL_TRY(out.write(std::as_bytes(std::span(&length, 1))));
  SHOAL_TRY(out.write(std::as_bytes(std::span(header))));
  for (const Tensor& tensor : tensors) SHOAL_TRY(out.write(tensor.bytes()));
  return out.commit();
}

Result<TensorFile> parse_safetensors(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  if (bytes.size() < kLengthBytes) return corrupt("too short for a safetensors file");
  std::memcpy(&length, bytes.data(), kLengthBytes);
  bytes = bytes.subspan(kLengthBytes);
  // A header of any length up to that of the file would be parsed into memory several times its
  // size.
  if (length > bytes.size() || length > kLimits.max_structure_bytes) {
    return corrupt("not a safetensors file: its header would have " + std::to_string(length) +
                   " bytes");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              static_cast<size_t>(length));
  const std::span<const std::byte> elements = bytes.subspan(static_cast<size_t>(length));
  SHOAL_ASSIGN(Header header, parse_header(text));
  SHOAL_TRY(check_offsets(header.entries, elements.size()));
  TensorFile file;
  std::vector<Tensor> tensors;
  for (const Entry& entry : header.entries) {
    Tensor tensor(entry.type);
    std::ranges::copy(elements.subspan(static_cast<size_t>(entry.begin), tensor.bytes().size()),
                      tensor.bytes().begin());
    if (!are_elements(entry.type.dtype, tensor.bytes())) {
      return corrupt("a bool is neither 0 nor 1");
    }
    tensors.push_back(tensor);
    file.tensors.emplace(entry.name, std::move(tensor));
  }
  SHOAL_ASSIGN(file.checked, verify_checksum(text, header, tensors));
  file.metadata = std::move(header.metadata);
  file.metadata.erase(kChecksum);
  return file;
}

Result<TensorFile> read_safetensors(const std::filesystem::path& path) {
  SHOAL_ASSIGN(const auto mapped, MappedFile::open(path));
  auto file = parse_safetensors(mapped->bytes());
  if (!file.ok()) return file.status().at(path.string());
  return file;
}

}  // namespace shoal
