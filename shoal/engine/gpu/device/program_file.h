// Compiled programs, kept for the next start. A file is named by the hash of what the program
// depends on; it has a head, the hash of the program, and the program. Whatever does not fit is
// compiled again: a miss is never an error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace shoal::gpu {

// The file of a program that depends on these texts: device, driver, options, source.
std::filesystem::path program_file(const std::filesystem::path& folder,
                                   std::span<const std::string_view> key,
                                   std::string_view extension);

// The program that was kept; nothing where there is none, or the file is not whole.
std::vector<std::byte> load_program(const std::filesystem::path& file);

// Where that fails, the next start compiles.
void keep_program(const std::filesystem::path& file, std::span<const std::byte> program);

}  // namespace shoal::gpu
