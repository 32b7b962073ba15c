// The key of packed weights: a hash of the weights and of the form that they are packed in.
#include "shoal/engine/cpu/packed_weights.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/math/hash.h"
#include "shoal/engine/cpu/instruction_set.h"

namespace shoal::cpu {
namespace {

// Reading checks header and directory at once and the floats of an entry when they are first used,
// so that opening a model of hundreds of megabytes touches only weights that are needed. Writing
// goes through a temporary file and a rename: a reader sees the old file or the new one.
//
// Checksums find damage, not forgery: a program that can write the file decides what the model
// computes, as one that can write the model does.
using Header = PackedCache::Header;
using Entry = PackedCache::Entry;

constexpr int64_t kAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::span<const std::byte> bytes_of(const float* floats, int64_t count) {
  return std::as_bytes(std::span(floats, static_cast<size_t>(count)));
}

Header header_of(size_t entries) {
  // The magic carries the version of the file; the forms of packing have separate names.
  Header header{"shoal packed 1", {}, entries, 0};
  const std::string_view instructions = instruction_sets().front();
  instructions.copy(header.instructions, sizeof(header.instructions) - 1);
  return header;
}

// Serialized header and entries, including the check.
std::vector<std::byte> directory_of(std::span<const Entry> entries) {
  Header header = header_of(entries.size());
  std::vector<std::byte> bytes(sizeof(header) + entries.size_bytes());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::ranges::copy(std::as_bytes(entries), bytes.begin() + sizeof(header));
  header.check = hash_of(bytes);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

// Entries of a file; empty if header or directory are not exactly as this process would write them.
// That covers magic, instruction set and checksum in one comparison. The count is bounded by the
// size of the file before memory is allocated for it.
std::vector<Entry> entries_of(std::span<const std::byte> file) {
  Header header;
  if (file.size() < sizeof(header)) return {};
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.entries > (file.size() - sizeof(header)) / sizeof(Entry)) return {};
  std::vector<Entry> entries(header.entries);
  const auto directory = std::as_writable_bytes(std::span(entries));
  std::ranges::copy(file.subspan(sizeof(header), directory.size()), directory.begin());
  const std::vector<std::byte> expected = directory_of(entries);
  return std::ranges::equal(expected, file.first(expected.size())) ? entries : std::vector<Entry>();
}

// Offset and count come from the file: their sum may overflow.
bool lies_within(const Entry& entry, size_t file_size) {
  const auto offset = static_cast<int64_t>(entry.offset), count = static_cast<int64_t>(entry.count);
  if (offset < 0 || count < 0 || offset % kAlignment != 0) return false;
  const Checked end = Checked(offset) + Checked(count) * static_cast<int64_t>(sizeof(float));
  return end.ok() && end.value() <= static_cast<int64_t>(file_size);
}

}  // namespace

PackedCache::PackedCache(std::filesystem::path file) : file_(std::move(file)) { load(); }

void PackedCache::load() {
  known_.clear();
  const auto mapped = MappedFile::open(file_);
  if (!mapped.ok()) return;
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  for (const Entry& entry : entries_of(bytes)) {
    if (!lies_within(entry, bytes.size())) continue;
    const auto* floats = reinterpret_cast<const float*>(bytes.data() + entry.offset);
    known_[entry.key] = {PackedFloats(*mapped, floats), static_cast<int64_t>(entry.count),
                         entry.check};
  }
}

PackedFloats PackedCache::find(uint64_t key, int64_t count, ThreadPool& pool) {
  const auto it = known_.find(key);
  if (it == known_.end()) return nullptr;
  Packed& packed = it->second;
  packed.checked =
      packed.count == count &&
      (packed.checked || hash_with(pool, bytes_of(packed.floats.get(), count)) == packed.check);
  if (packed.checked) return packed.floats;
  known_.erase(it);
  return nullptr;
}

void PackedCache::add(uint64_t key, PackedFloats floats, int64_t count) {
  known_[key] = {std::move(floats), count, 0, true};
  is_new_ = true;
}

Status PackedCache::save(ThreadPool& pool) {
  if (!is_new_) return {};
  std::erase_if(known_, [](const auto& item) { return !item.second.checked; });
  std::vector<Entry> entries;
  int64_t end = aligned(static_cast<int64_t>(sizeof(Header) + known_.size() * sizeof(Entry)));
  for (const auto& [key, packed] : known_) {
    const std::span<const std::byte> bytes = bytes_of(packed.floats.get(), packed.count);
    entries.push_back({key, static_cast<uint64_t>(end), static_cast<uint64_t>(packed.count),
                       hash_with(pool, bytes)});
    end += aligned(static_cast<int64_t>(bytes.size()));
  }
  SHOAL_ASSIGN(AtomicFile file, AtomicFile::create(file_, {.durable = false}));
  const auto write = [&](std::span<const std::byte> bytes) {
    static constexpr std::byte kZeros[kAlignment] = {};
    SHOAL_TRY(file.write(bytes));
    const auto size = static_cast<int64_t>(bytes.size());
    return file.write(std::span(kZeros).first(static_cast<size_t>(aligned(size) - size)));
  };
  SHOAL_TRY(write(directory_of(entries)));
  for (const auto& item : known_) {
    SHOAL_TRY(write(bytes_of(item.second.floats.get(), item.second.count)));
  }
  SHOAL_TRY(file.commit());
  is_new_ = false;
  // Entries now refer to the new file instead of heap memory that no kernel may use any more. Those
  // that were just written from verified memory need no second check. Another process may have
  // replaced the file since; then they are those that have the same checksum.
  load();
  for (const Entry& entry : entries) {
    const auto it = known_.find(entry.key);
    if (it != known_.end() && it->second.check == entry.check) it->second.checked = true;
  }
  return {};
}

uint64_t hash_with(ThreadPool& pool, std::span<const std::byte> bytes) {
  // Pieces are fixed in size: the hash must not depend on the number of threads.
  constexpr size_t kPart = size_t{1} << 20;
  std::vector<uint64_t> parts((bytes.size() + kPart - 1) / kPart);
  pool.parallel_for(std::ssize(parts), [&](int64_t i, int) {
    const size_t begin = static_cast<size_t>(i) * kPart;
    parts[static_cast<size_t>(i)] =
        hash_of(bytes.subspan(begin, std::min(kPart, bytes.size() - begin)));
  });
  return hash_of(std::as_bytes(std::span(parts)));
}

uint64_t packed_key(const KernelSpec& spec, const PackedForm& form) {
  const uint64_t parts[] = {hash_with(spec.pool, spec.constant(1)->bytes()),
                            hash_of(std::as_bytes(std::span(form.name))),
                            hash_of(std::as_bytes(std::span(form.numbers)))};
  return hash_of(std::as_bytes(std::span(parts)));
}

}  // namespace shoal::cpu
