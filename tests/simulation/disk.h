// Disk: what of a folder's files survives a power cut. Files are real ones; what was synced is
// remembered when fsync() is called (interpose.cc).
#pragma once

#include <filesystem>

namespace shoal::simulation {

// The file or folder behind this descriptor is on the disk now, as it is.
void note_synced(int descriptor);

// Leaves the folder as a power cut may: names as they were when the folder was last synced or as
// they are now, and in each file what was synced, what was written, or nothing. The seed draws.
void cut_power(const std::filesystem::path& folder);

}  // namespace shoal::simulation
