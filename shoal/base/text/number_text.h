// Numbers as people read them: in tables and in sentences.
#pragma once

#include <string>

namespace shoal {

std::string fixed(double x, int digits);  // 0.123
std::string with_commas(long long n);     // 61,100,840
std::string in_bytes(long long n);        // 12.8 MB
std::string in_seconds(double seconds);   // 3.5 ms, 1.25 s

}  // namespace shoal
