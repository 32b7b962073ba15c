// Numbers, sizes and times as people read and write them: in tables, sentences and settings.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shoal {

std::string fixed(double x, int digits);  // 0.123
std::string with_commas(long long n);     // 61,100,840
std::string in_bytes(long long n);        // 12.8 MB
std::string in_seconds(double seconds);   // 3.5 ms, 1.25 s

// 2026-02-28T23:59:59Z
std::string in_utc(std::chrono::system_clock::time_point time);

// The number of bytes in a text such as "1.5GB". Units are kB, MB and GB, powers of 1000. Nothing
// if the text is no size, or not between one byte and 1 EB.
std::optional<int64_t> parse_byte_size(std::string_view text);

}  // namespace shoal
