#include "shoal/engine/gpu/device/device_cache.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/base/math/hash.h"

namespace shoal::gpu {
namespace {

constexpr std::array<char, 8> kMagic{'s', 'h', 'o', 'a', 'l', 'g', 'p', '1'};

struct Head {
  std::array<char, 8> magic = kMagic;
  uint64_t hash = 0;  // of the program
};

}  // namespace

std::filesystem::path program_file(const std::filesystem::path& folder,
                                   std::span<const std::string_view> key,
                                   std::string_view extension) {
  std::string all;
  for (const std::string_view part : key) {
    all += std::to_string(part.size()) + ":" + std::string(part);
  }
  const uint64_t hash = hash_of(std::as_bytes(std::span(all)));
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%016llx", static_cast<unsigned long long>(hash));
  return folder / (name.data() + std::string(extension));
}

std::vector<std::byte> load_program(const std::filesystem::path& file) {
  const auto mapped = MappedFile::open(file);
  if (!mapped.ok() || (*mapped)->bytes().size() <= sizeof(Head)) return {};
  Head head;
  std::memcpy(&head, (*mapped)->bytes().data(), sizeof head);
  const std::span<const std::byte> program = (*mapped)->bytes().subspan(sizeof head);
  if (head.magic != kMagic || head.hash != hash_of(program)) return {};
  return {program.begin(), program.end()};
}

void keep_program(const std::filesystem::path& file, std::span<const std::byte> program) {
  const Head head{.hash = hash_of(program)};
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  auto writer = AtomicFile::create(file, {.durable = false});
  if (writer.ok() && writer->write(std::as_bytes(std::span(&head, 1))).ok() &&
      writer->write(program).ok()) {
    static_cast<void>(writer->commit());
  }
}

}  // namespace shoal::gpu
