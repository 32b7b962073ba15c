// Data sets of image files, one an example.
#include <algorithm>
#include <charconv>
#include <fstream>

#include "shoal/data/formats.h"
#include "shoal/data/image.h"

namespace shoal::data {
namespace {

namespace fs = std::filesystem;

struct Entry {
  fs::path path;
  int64_t label = 0;
};

class FolderDataset : public Dataset {
 public:
  explicit FolderDataset(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  size_t size() const override { return entries_.size(); }
  Result<Example> at(size_t index) const override {
    SHOAL_ASSIGN(Tensor image, read_image(entries_[index].path));
    return Example{std::move(image), entries_[index].label};
  }
  std::string place(size_t index) const override { return entries_[index].path.string(); }

 private:
  std::vector<Entry> entries_;
};

// labels.txt is a file from outside: a line without a class stops the reading, with its number.
Result<std::vector<Entry>> read_label_file(const fs::path& folder) {
  const fs::path path = folder / "labels.txt";
  std::ifstream file(path);
  std::vector<Entry> entries;
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    const size_t space = line.find_first_of(" \t");
    if (line.empty()) continue;
    int64_t label = -1;
    if (space != line.npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), label);
    }
    if (label < 0) {
      return Status(Code::kCorrupt, path.string() + ": line " + std::to_string(number) +
                                        " is not 'file class-number'");
    }
    entries.push_back({folder / line.substr(0, space), label});
  }
  return entries;
}

// The order of a folder depends on the file system. Sorting makes classes and seeds reproducible.
std::vector<fs::path> sorted_children(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> children;
  for (const auto& entry : fs::directory_iterator(folder, error)) children.push_back(entry.path());
  std::ranges::sort(children);
  return children;
}

std::vector<Entry> read_class_folders(const fs::path& folder) {
  std::vector<Entry> entries;
  int64_t label = 0;
  for (const fs::path& child : sorted_children(folder)) {
    // Other files, such as a README, are no class.
    if (!fs::is_directory(child)) continue;
    for (const fs::path& image : sorted_children(child)) entries.push_back({image, label});
    ++label;
  }
  return entries;
}

// The folder of a split, empty if there is none.
fs::path folder_of(const fs::path& folder, Split split) {
  if (split != Split::kTraining) {
    for (const char* name : {"test", "val"}) {
      if (fs::is_directory(folder / name)) return folder / name;
    }
  }
  if (split == Split::kHeldOut) return {};
  return fs::is_directory(folder / "train") ? folder / "train" : folder;
}

}  // namespace

Opened open_folder(const fs::path& folder, Split split) {
  const fs::path part = folder_of(folder, split);
  if (part.empty()) {
    return Status(Code::kNotFound, "neither test nor val in " + folder.string());
  }
  std::vector<Entry> entries;
  if (fs::is_regular_file(part / "labels.txt")) {
    SHOAL_ASSIGN(entries, read_label_file(part));
  } else {
    entries = read_class_folders(part);
  }
  if (entries.empty()) {
    return Status(Code::kNotFound, "neither labels.txt nor class folders in " + part.string());
  }
  return std::unique_ptr<Dataset>(std::make_unique<FolderDataset>(std::move(entries)));
}

}  // namespace shoal::data
