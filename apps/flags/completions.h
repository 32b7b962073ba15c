// Shell completion scripts for the commands and flags of a program.
#pragma once

#include <string>
#include <vector>

#include "apps/flags/flags.h"

namespace shoal::cli {

// For "bash", "zsh" or "fish". `words` are offered wherever a flag is.
std::string completions(const Command& program, const std::string& shell,
                        const std::vector<std::string>& words);

}  // namespace shoal::cli
