// Disk: the files of a folder that survive a power cut. Files are real; fsync() records synced
// content (interpose.cc).
#pragma once

#include <filesystem>

namespace shoal::simulation {

// The file or folder behind this descriptor is on the disk now.
void note_synced(int descriptor);

// Leaves the folder as a power cut may: names as they were when the folder was last synced or as
// they are now, and in each file what was synced, what was written, or nothing. The seed draws.
void cut_power(const std::filesystem::path& folder);

}  // namespace shoal::simulation
