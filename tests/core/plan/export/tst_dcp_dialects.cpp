// SPDX-License-Identifier: Apache-2.0
// Distributed checkpoints of other programs: where their parameters, states and options are.
#include "tests/core/plan/dcp_folder.h"

#include "core/checkpoint/dcp/dcp_keys.h"
#include "core/checkpoint/open/open.h"
#include "core/compare/digest/state_fingerprint.h"
#include "core/layout/fragments.h"
#include "tests/support/places.h"

#include <set>

using namespace shardscope;
using namespace shardscope::test;

namespace {

using Kind = DcpKey::Kind;

io::Path dcpSample(const std::string& name)
{
    return io::Path(sourceFolder()) / "tests/data/dcp" / name;
}

DcpEntry tensorAt(std::vector<DcpStep> path, const Shape& shape = {4, 2})
{
    DcpEntry out{{}, std::move(path), true, DType::Float32, shape, {{Shape(shape.size(), 0), shape, {}}}, {}};
    for (const DcpStep& step : out.path) {
        const auto* text = std::get_if<std::string>(&step);
        out.key += (out.key.empty() ? "" : ".") + (text ? *text : std::to_string(std::get<int64_t>(step)));
    }
    return out;
}

DcpEntry objectAt(std::vector<DcpStep> path)
{
    DcpEntry out = tensorAt(std::move(path));
    out.isTensor = false;
    out.chunks.clear();
    return out;
}

/// The same keys without recorded paths.
std::vector<DcpEntry> withoutPaths(std::vector<DcpEntry> entries)
{
    for (DcpEntry& entry : entries)
        entry.path.clear();
    return entries;
}

std::string textOf(const DcpKey& key)
{
    switch (key.kind) {
    case Kind::Model:
        return "model " + key.name;
    case Kind::State:
        return "state " + key.name + " " + key.state;
    case Kind::GroupMembers:
        return "members " + std::to_string(key.group);
    case Kind::GroupOption:
        return "option " + std::to_string(key.group) + " " + key.name;
    case Kind::ParamOption:
        return "option of " + key.name + " " + key.state;
    case Kind::Object:
        return "object";
    case Kind::Unknown:
        break;
    }
    return "unknown";
}

std::vector<std::string> textsOf(const std::vector<DcpEntry>& entries)
{
    std::vector<std::string> out;
    for (const DcpKey& key : parseDcpKeys(entries))
        out.push_back(textOf(key));
    return out;
}

using Texts = std::vector<std::string>;

std::string whyNot(const io::Path& path)
{
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
    if (!opened)
        return opened.error().code == ErrorCode::Unsupported ? opened.error().message
                                                             : describe(opened.error());
    const auto& error = (*opened).checkpoint->modelError;
    CHECK_FALSE((*opened).checkpoint->complete);
    return error && error->code == ErrorCode::Unsupported ? error->message : std::string("it is supported");
}

std::string bytesAt(const Checkpoint& checkpoint, const std::string& name, const std::string& state)
{
    const auto bytes = bytesOf(checkpoint, name, state);
    return {bytes.begin(), bytes.end()};
}

} // namespace

TEST_CASE("steps of a path are containers, and dots in a step belong to a name")
{
    // accelerate, torch's recipe: containers
    CHECK(textsOf({tensorAt({"model", "model.a.weight"}), tensorAt({"model", "lm_head.weight"}),
              tensorAt({"optimizer", "state", "model.a.weight", "exp_avg"}),
              tensorAt({"optimizer", "state", "model.a.weight", "step"}, {}),
              objectAt({"optimizer", "param_groups", int64_t{1}, "lr"}),
              objectAt({"optimizer", "param_groups", int64_t{1}, "params"})})
        == Texts{"model model.a.weight", "model lm_head.weight", "state model.a.weight exp_avg",
            "state model.a.weight step", "option 1 lr", "members 1"});
    CHECK(textsOf({tensorAt({"app", "model", "a"}), tensorAt({"app", "optim", "state", "a", "exp_avg"}),
              objectAt({"app", "optim", "param_groups", int64_t{0}, "betas"}),
              objectAt({"app", "scheduler", "last_epoch"})})
        == Texts{"model a", "state a exp_avg", "option 0 betas", "object"});
    // a model saved in the root: `model.` is a part of the names, whether or not all have it
    CHECK(textsOf({tensorAt({"model.a.weight"}), tensorAt({"lm_head.weight"})})
        == Texts{"model model.a.weight", "model lm_head.weight"});
    CHECK(textsOf({tensorAt({"model.a.weight"}), tensorAt({"model.b.weight"})})
        == Texts{"model model.a.weight", "model model.b.weight"});
    // torchtitan: the model in the root, a flat optimizer with options of each parameter
    CHECK(textsOf({tensorAt({"layers.0.w"}), tensorAt({"optimizer", "state.layers.0.w.exp_avg"}),
              tensorAt({"optimizer", "param_groups.layers.0.w.lr"}, {}),
              objectAt({"optimizer", "param_groups.0.lr"}), tensorAt({"train_state", "step"}, {}),
              objectAt({"dataloader", "dp_rank_0"})})
        == Texts{"model layers.0.w", "state layers.0.w exp_avg", "option of layers.0.w lr", "option of 0 lr",
            "object", "object"});
    // a state with parts
    CHECK(textsOf({tensorAt({"model", "a"}), tensorAt({"optim", "state", "a", "exp_avg", "codes"})})
        == Texts{"model a", "state a exp_avg.codes"});
    // all groups as one object
    CHECK(textsOf({tensorAt({"model", "a"}), objectAt({"optim", "param_groups"})})
        == Texts{"model a", "option 0 "});
}

TEST_CASE("without paths, `model.` is a container only if it explains every tensor or the optimizer says so")
{
    const auto texts
        = [](std::vector<DcpEntry> entries) { return textsOf(withoutPaths(std::move(entries))); };
    CHECK(texts({tensorAt({"model", "a.weight"}), tensorAt({"optim", "state", "a.weight", "exp_avg"}),
              objectAt({"optim", "param_groups", int64_t{12}, "params"}),
              objectAt({"optim", "param_groups", int64_t{2}, "lr"}), objectAt({"deepspeed", "global_steps"})})
        == Texts{"model a.weight", "state a.weight exp_avg", "members 12", "option 2 lr", "object"});
    CHECK(texts({tensorAt({"model", "a"}), tensorAt({"model", "b"})}) == Texts{"model a", "model b"});
    CHECK(
        texts({tensorAt({"model", "a"}), tensorAt({"lm_head"})}) == Texts{"model model.a", "model lm_head"});
    CHECK(texts({tensorAt({"model", "a"}), tensorAt({"optimizer", "state", "model.a", "exp_avg"})})
        == Texts{"model model.a", "state model.a exp_avg"});
    CHECK(texts({tensorAt({"app", "model", "a"}), tensorAt({"app", "optim", "state", "a", "exp_avg"})})
        == Texts{"model a", "state a exp_avg"});
    CHECK(texts({tensorAt({"model", "a"}), tensorAt({"optimizer", "param_groups", "a", "lr"}, {})})
        == Texts{"model a", "option of a lr"});
    CHECK(texts({tensorAt({"model", "a"}), objectAt({"model", ""}), objectAt({"train_state"})})
        == Texts{"model a", "object", "object"});
}

TEST_CASE("tensors that no rule explains are unknown, and not parameters")
{
    CHECK(textsOf({tensorAt({"model", "a"}), tensorAt({"ema", "a"}), tensorAt({"rng"}, {1})})
        == Texts{"model a", "unknown", "object"});
    CHECK(textsOf({tensorAt({"a"}), tensorAt({"optimizer", "distributed", "param"})})
        == Texts{"model a", "unknown"});
    CHECK(textsOf({tensorAt({"model", "a"}), tensorAt({"opt", "state", "a", "exp_avg"})})
        == Texts{"model a", "unknown"});
    CHECK(textsOf({tensorAt({"model", "a"}), objectAt({"optim"}), objectAt({"optim", "state", "a"})})
        == Texts{"model a", "unknown", "unknown"});
    CHECK(textsOf({tensorAt({"a"}), objectAt({"optim", "param_groups.a.lr"}),
              objectAt({"optim", "param_groups", int64_t{0}, "lr"})})
        == Texts{"model a", "unknown", "option 0 lr"});
    // no optimizer and no container named `model`: everything is shown under its whole key
    CHECK(textsOf({tensorAt({"actor", "a"}), tensorAt({"critic", "a"})})
        == Texts{"model actor.a", "model critic.a"});
}

TEST_CASE("stock checkpoints of three forms hold the same weights and states under the same names")
{
    const CheckpointPtr root = openForPlan(dcpSample("root"));
    const CheckpointPtr recipe = openForPlan(dcpSample("recipe"));
    const CheckpointPtr accelerate = openForPlan(dcpSample("accelerate"));
    for (const CheckpointPtr& found : {root, recipe, accelerate}) {
        CHECK(found->complete);
        CHECK(found->findings.empty());
        CHECK(found->params.size() == 19);
        CHECK(found->findParam("lm_head.weight").has_value());
    }
    for (const Parameter& param : root->params) {
        CAPTURE(param.name);
        const auto weight = bytesOf(*root, param.name, "weight");
        CHECK(bytesOf(*recipe, param.name, "fp32") == weight);
        CHECK(bytesOf(*accelerate, param.name, "fp32") == weight);
    }
    CHECK(root->params.front().name == "model.embed_tokens.weight");
    CHECK(recipe->groups.size() == 2);
    CHECK(recipe->stateNames() == std::vector<std::string>{"fp32", "exp_avg", "exp_avg_sq"});
    CHECK(accelerate->groups.size() == 2);
    CHECK(recipe->units.front().step == 3.0);
    const Workers workers{};
    JobContext job;
    const auto one = fingerprintState(io::realFileSystem(), recipe, workers, job);
    const auto other = fingerprintState(io::realFileSystem(), accelerate, workers, job);
    REQUIRE_MESSAGE(one.has_value(), (one ? "" : describe(one.error())));
    REQUIRE_MESSAGE(other.has_value(), (other ? "" : describe(other.error())));
    CHECK(one->whole.text() == other->whole.text());
}

TEST_CASE("one half of a pair of folders is the weights, or is refused and named")
{
    const CheckpointPtr weights = openForPlan(dcpSample("accelerate/pytorch_model_fsdp_0"));
    CHECK(weights->params.size() == 19);
    CHECK(whyNot(dcpSample("accelerate/optimizer_0")).find("no weights") != std::string::npos);
    const TemporaryFolder folder;
    std::filesystem::copy(dcpSample("accelerate"), folder / "two", std::filesystem::copy_options::recursive);
    std::filesystem::copy(folder / "two/pytorch_model_fsdp_0", folder / "two/pytorch_model_fsdp_1");
    CHECK(whyNot(folder / "two").find("several models") != std::string::npos);
}

TEST_CASE("the newest step of a run of distributed checkpoints is opened, and an unfinished one is reported")
{
    const TemporaryFolder folder;
    for (const char* step : {"step-9", "step-10"})
        std::filesystem::copy(dcpSample("recipe"), folder / step, std::filesystem::copy_options::recursive);
    std::filesystem::copy(
        dcpSample("accelerate"), folder / "step-8", std::filesystem::copy_options::recursive);
    const CheckpointPtr newest = openForPlan(folder.path());
    CHECK(newest->tagFolder.filename() == "step-10");
    CHECK(newest->tags == std::vector<std::string>{"step-8", "step-9", "step-10"});
    CHECK(newest->findings.empty());
    JobContext job;
    OpenOptions options;
    options.tag = "step-8";
    const auto chosen = openCheckpoint(io::realFileSystem(), folder.path(), options, job);
    REQUIRE(chosen.has_value());
    CHECK((*chosen).checkpoint->params.size() == 19);
    std::filesystem::copy(dcpSample("root"), folder / "step-11");
    std::filesystem::remove(folder / "step-11/.metadata");
    const CheckpointPtr last = openForPlan(folder.path());
    CHECK(last->tagFolder.filename() == "step-10");
    REQUIRE(last->findings.size() == 1);
    CHECK(last->findings.front().message.find("step-11") != std::string::npos);
}

TEST_CASE("parameters with equal options are a param group, in the order of the state dict")
{
    const std::string weight = bytesFrom(1, 4 * 4);
    DcpFolder folder;
    const auto option = [&](const std::string& param, const std::string& name, double value) {
        folder.addObject("optimizer.param_groups." + param + "." + name,
            {"optimizer", "param_groups." + param + "." + name},
            [&](PickleBuilder& builder) { return builder.real(value); });
    };
    for (const char* name : {"c", "a", "b", "d.0"}) {
        folder.add(name, {4}, weight, 2, {std::string(name)});
        folder.add("optimizer.state." + std::string(name) + ".exp_avg", {4}, weight, 2,
            {"optimizer", "state." + std::string(name) + ".exp_avg"});
    }
    option("c", "lr", 0.5);
    option("c", "eps", 1.0);
    option("a", "lr", 0.25);
    option("a", "eps", 1.0);
    option("b", "eps", 1.0);
    option("b", "lr", 0.5);
    option("d.0", "lr", 0.5);
    const CheckpointPtr found = openForPlan(folder.write());
    CHECK(found->complete);
    REQUIRE(found->groups.size() == 3);
    const auto groupOf
        = [&](const char* name) { return found->params[index(*found->findParam(name))].group; };
    CHECK(groupOf("c") == 0);
    CHECK(groupOf("b") == 0);
    CHECK(groupOf("a") == 1);
    CHECK(groupOf("d.0") == 2);
    const PickleGraph& graph = found->file(found->templateOptim).content->pickle();
    CHECK(asNumber(graph, lookup(graph, found->groups[0].options, "lr")) == 0.5);
    CHECK(asNumber(graph, lookup(graph, found->groups[1].options, "lr")) == 0.25);
    CHECK(lookup(graph, found->groups[2].options, "eps") == kNoNode);
}

TEST_CASE("tensors that are not stored row by row are read in their own order")
{
    const std::string weight = bytesFrom(1, 6 * 4); // (2, 3), stored by columns
    DcpFolder folder;
    folder.addStrided("model.a", {2, 3}, {1, 2}, weight);
    folder.addStrided("optim.state.a.exp_avg", {2, 3}, {1, 2}, weight);
    folder.addStrided("model.frozen", {2, 3}, {1, 2}, weight);
    std::string image; // (1, 2, 2, 3), channels last: the dimension of 2 varies fastest
    for (int i = 0; i < 12; ++i)
        image += std::string(1, static_cast<char>(i)) + std::string(3, 0);
    folder.addStrided("model.image", {1, 2, 2, 3}, {12, 1, 6, 2}, image);
    const CheckpointPtr found = openForPlan(folder.write());
    CHECK(found->complete);
    CHECK(found->findings.empty());
    std::string rows;
    for (const size_t element : {0, 2, 4, 1, 3, 5})
        rows += weight.substr(element * 4, 4);
    CHECK(bytesAt(*found, "a", "fp32") == rows);
    CHECK(bytesAt(*found, "a", "exp_avg") == rows);
    CHECK(bytesAt(*found, "frozen", "weight") == rows);
    const std::string order = bytesAt(*found, "image", "weight");
    for (size_t i = 0; i < 12; ++i)
        CHECK(order[i * 4] == static_cast<char>(i < 6 ? i * 2 : (i - 6) * 2 + 1));
    // The same stored row by row has the same digest.
    DcpFolder plain;
    plain.add("model.a", {2, 3}, rows, 2);
    plain.add("optim.state.a.exp_avg", {2, 3}, rows, 1);
    plain.add("model.frozen", {2, 3}, rows, 2);
    plain.add("model.image", {1, 2, 2, 3}, order, 1);
    const CheckpointPtr same = openForPlan(plain.write());
    const Workers workers{};
    JobContext job;
    const auto here = fingerprintState(io::realFileSystem(), found, workers, job);
    REQUIRE_MESSAGE(here.has_value(), (here ? "" : describe(here.error())));
    CHECK(here->whole.text() == fingerprintState(io::realFileSystem(), same, workers, job)->whole.text());
}

TEST_CASE("elements that share a place are refused, and the tensor is named")
{
    DcpFolder folder;
    folder.addStrided("model.spread", {2, 3}, {0, 1}, bytesFrom(1, 3 * 4));
    CHECK(whyNot(folder.write()).find("model.spread") != std::string::npos);
}

TEST_CASE("no tensor of a distributed checkpoint is dropped: it is in the model, or the refusal names it")
{
    const std::string four = bytesFrom(1, 4 * 4);
    using Add = std::function<void(DcpFolder&)>;
    const auto refused = [&](const char* key, const Add& add) {
        CAPTURE(std::string(key));
        DcpFolder folder;
        folder.add("model.a", {4}, four, 2, {"model", "a"});
        folder.add("optim.state.a.exp_avg", {4}, four, 2, {"optim", "state", "a", "exp_avg"});
        add(folder);
        const std::string why = whyNot(folder.write());
        CHECK_MESSAGE(why.find(key) != std::string::npos, why);
    };
    refused("ema.a", [&](DcpFolder& folder) { folder.add("ema.a", {4}, four, 4, {"ema", "a"}); });
    refused("optim.state.b.exp_avg", [&](DcpFolder& folder) { // whose weight is not there
        folder.add("optim.state.b.exp_avg", {4}, four, 4, {"optim", "state", "b", "exp_avg"});
    });
    refused("optim.state.0.exp_avg", [&](DcpFolder& folder) { // by number
        folder.add("optim.state.0.exp_avg", {4}, four, 4, {"optim", "state", int64_t{0}, "exp_avg"});
    });
    refused("optim.master.a", [&](DcpFolder& folder) {
        folder.add("optim.master.a", {4}, four, 4, {"optim", "master", "a"});
    });
    refused("opt.a.exp_avg", [&](DcpFolder& folder) {
        folder.add("opt.a.exp_avg", {4}, four, 4, {"opt", "a", "exp_avg"});
    });
    refused("data.index", [&](DcpFolder& folder) { // in two chunks, which no object is
        folder.add("data.index", {4}, four, 2, {"data", "index"});
    });
    refused("optim.settings", [&](DcpFolder& folder) {
        folder.addObject(
            "optim.settings", {"optim", "settings"}, [](PickleBuilder& b) { return b.integer(1); });
    });
    refused("`gone`", [&](DcpFolder& folder) {
        folder.addObject("optim.param_groups.0.params", {"optim", "param_groups", int64_t{0}, "params"},
            [](PickleBuilder& b) {
                return b.list(std::array{b.string("a"), b.string("gone")});
            });
    });
}

TEST_CASE("a tensor without elements is a parameter of a distributed checkpoint")
{
    DcpFolder folder;
    folder.add("model.a", {4}, bytesFrom(1, 4 * 4), 2);
    folder.entries().push_back({"model.none", {}, true, DType::Float32, {0, 3}, {}, {}});
    const CheckpointPtr found = openForPlan(folder.write());
    CHECK(found->complete);
    REQUIRE(found->findParam("none").has_value());
    CHECK(found->params[index(*found->findParam("none"))].elements == 0);
}
