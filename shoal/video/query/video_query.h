// Queries about a video: an index that a cheap classifier makes of its frames, and the frames that
// show a class, with few looks of an expensive classifier [Huynh 2019, 5].
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/video/query/ask.h"
#include "shoal/video/query/classifier.h"
#include "shoal/video/query/index.h"
#include "shoal/video/query/labels.h"

#pragma GCC visibility push(default)

namespace shoal::query {

// How a video is indexed. A value.
struct VideoIndexOptions {
  std::string source = {};       // as watch::open_source() takes it
  uint64_t frames = 0;           // only the first so many; 0: all
  uint64_t every = 10;           // the expensive classifier sees one of so many frames
  size_t k = 2;                  // labels of each exit, where no expensive classifier chooses
  ClusterOptions clusters = {};  // how alike frames of a cluster are
  const std::atomic<bool>* cancel = nullptr;  // ends it with the frames so far; null: never
};

// An index, and how it was made.
struct VideoIndex {
  Index index;
  LabelConfig labels;
  size_t entries = 0;  // as Indexer::entries()
  double seconds = 0;  // without those of the expensive classifier
};

// Indexes all frames. Where there is an expensive classifier, frames that both have seen say which
// labels go into the index and from which probability on exits are trusted. Fails as
// watch::open_source() and the classifiers do.
Result<VideoIndex> index_video(Classifier& cheap, Classifier* expensive,
                               const VideoIndexOptions& options);

// The frames that show a class. The expensive classifier sees each frame that is needed once, in
// the order of the video: these are the calls of the answer. Fails as watch::open_source() and the
// classifier do, and with kInvalidArgument if the video has fewer frames than it had.
Result<AskResult> ask_video(const Index& index, int64_t label, std::span<const double> thresholds,
                            Classifier& expensive, const std::atomic<bool>* cancel = nullptr);

}  // namespace shoal::query

#pragma GCC visibility pop
