// Service: the backend of all doors: an engine, and a chooser if tasks have variants. A task is a
// model to clients: its answers name the variant that gave them and the decision.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "shoal/base/threads/task_thread.h"
#include "shoal/serve/engine/backend.h"
#include "shoal/serve/engine/chooser.h"
#include "shoal/serve/engine/engine.h"
#include "shoal/serve/engine/remote.h"

namespace shoal::serve {

class Service final : public Backend {
 public:
  // `post` runs its argument on a thread that may compute. `leads` is called before each answer of
  // a model; null: always true. REQUIRES: `engine` and `keys`, which may be null, outlive it.
  Service(Engine& engine, Keys* keys, std::string version,
          std::function<void(std::function<void()>)> post, std::function<bool()> leads = nullptr)
      : engine_(engine),
        keys_(keys),
        version_(std::move(version)),
        post_(std::move(post)),
        leads_(std::move(leads)) {}

  ~Service() override { drain(); }

  // The inputs and outputs of tasks. REQUIRES: no requests yet; the engine has all variants.
  using TaskFacts = std::map<std::string, std::shared_ptr<const ModelFacts>>;
  void set_tasks(std::unique_ptr<Chooser> chooser, TaskFacts facts);
  // Other servers with the same variants; null: none. REQUIRES: no requests yet.
  void set_places(std::unique_ptr<Remote> cloud, std::unique_ptr<Remote> worker);
  // Makes a network for a few classes of a task, on a thread of low priority, until `cancel` is
  // set. REQUIRES: no requests yet.
  using MakeSpecial = std::function<Result<MadeSpecial>(
      size_t task, const std::vector<size_t>& classes, const std::atomic<bool>& cancel)>;
  void set_maker(MakeSpecial make) { make_special_ = std::move(make); }
  const Chooser* chooser() const { return chooser_.get(); }  // null: there are no tasks

  std::string version() const override { return version_; }
  bool is_ready() const override;
  bool leads() const override { return leads_ == nullptr || leads_(); }
  bool is_one_of_several() const { return leads_ != nullptr; }
  Result<ModelMetadata> metadata(const ModelName& model) const override;
  Result<std::vector<NamedStatistics>> statistics(const ModelName& model) const override;
  std::vector<IndexEntry> index(bool ready_only) const override;
  void load(const std::string& model, std::function<void(Status)> done) override;
  Status unload(const std::string& model) override { return engine_.unload(model); }
  KeyCheck check_key(std::string_view authorization, KeyUse use, uint64_t address) override;
  std::optional<InferResult> refusal(const std::string& model, uint64_t client,
                                     uint32_t priority) override;
  bool is_quick(const std::string& model) const override { return engine_.is_quick(model); }
  void infer(const ModelName& model, const InferRequest& request, const Asker& asker,
             std::function<void(InferResult)> done) override;
  void cancel_stopped() override { engine_.cancel_stopped(); }
  void post(std::function<void()> task) override { post_(std::move(task)); }

  // Reports that it is not ready, and makes no more networks. Requests are still answered.
  void drain() { draining_ = true; }

  Engine& engine() { return engine_; }
  // Of a loaded model, or of a task. Fails as metadata().
  Result<std::shared_ptr<const ModelFacts>> find_facts(const ModelName& model) const;

 private:
  using Done = std::function<void(InferResult)>;
  // A request for a task, as received.
  struct TaskRequest {
    size_t task = 0;
    std::shared_ptr<const ModelFacts> facts;
    InferRequest request;
    Asker asker;
    Done done;
  };
  using Asked = std::shared_ptr<const TaskRequest>;

  Result<std::shared_ptr<ServedModel>> find_model(const ModelName& model) const;
  // Adds a part of a variant as a model, if the name is one.
  Status add_part(const std::string& model);
  std::shared_ptr<const ModelFacts> find_task(const ModelName& model) const;  // null: it is none
  void infer_by_model(const ModelName& model, const InferRequest& request, const Asker& asker,
                      const Done& done);
  // Decides, and answers accordingly: here, by a cascade, or elsewhere. If another server does not
  // answer, decides again without it.
  void infer_by_task(const Asked& asked, const Reachable& reachable);
  void infer_here(const Asked& asked, const Choice& choice, std::unique_lock<std::mutex> lock);
  // The whole network there, or the first layers here and the rest there.
  void infer_elsewhere(const Asked& asked, const Choice& choice, const Reachable& reachable);
  void infer_split(const Asked& asked, const Choice& choice, const Reachable& reachable);
  // Returns another server's answer; if there is none, decides again without it.
  void ask_elsewhere(const Asked& asked, const Choice& choice, const Reachable& reachable,
                     const std::string& model, InferRequest sent, Time begin);
  static void name_outputs(const TaskRequest& asked, InferResponse& response);
  static bool is_one_item(const Asked& asked);
  void answer_by_special(const Asked& asked, const Choice& choice, InferResult result);
  void answer(const Asked& asked, const Choice& choice, InferResult result);
  // Unloads special networks that are given up, and has the wanted one made.
  void follow(size_t task, const ClassAdvice& advice);
  void make_special(size_t task, const std::vector<size_t>& classes);
  // Loads, unloads and plans according to a decision.
  void follow(const Choice& choice);
  // Answers by a model, and loads it if it is not loaded any more.
  void infer_loaded(const std::string& model, const InferRequest& request, const Asker& asker,
                    const Done& done);
  // Loads it if it is not loaded, then answers.
  void load_and_infer(const std::string& model, const InferRequest& request, const Asker& asker,
                      const Done& done);

  Engine& engine_;
  Keys* const keys_;
  const std::string version_;
  const std::function<void(std::function<void()>)> post_;
  const std::function<bool()> leads_;
  std::unique_ptr<Chooser> chooser_;
  TaskFacts tasks_;
  std::mutex choosing_;  // decisions are carried out in their order
  std::atomic<bool> draining_ = false;
  MakeSpecial make_special_;
  TaskThread loader_, maker_;               // their tasks use the members before them
  std::unique_ptr<Remote> cloud_, worker_;  // last: their threads use all the rest
};

// A request without its inputs and `done`.
Job job_of(const Asker& asker);

}  // namespace shoal::serve
