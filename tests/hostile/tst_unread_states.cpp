// SPDX-License-Identifier: Apache-2.0
// What an optimizer keeps and no reader understands: it is named, and nothing rewrites, compares or digests
// it as if it were not there. Weights can still be exported.
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/units/state_values.h"
#include "tests/hostile/hostile_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kTag = "global_step6/";

fs::path shard(const fs::path& run, char rank)
{
    return run / kTag / (std::string("bf16_zero_pp_rank_") + rank + "_mp_rank_00_optim_states.pt");
}

NodeId baseOf(const PickleGraph& graph)
{
    return lookup(graph, lookup(graph, graph.root(), "optimizer_state_dict"), "base_optimizer_state");
}

NodeId entryOf(const PickleGraph& graph, int64_t group)
{
    return lookup(graph, lookup(graph, baseOf(graph), "state"), group);
}

/// The tensors of every group in a dict of their own.
void nest(const fs::path& run, const std::string& key)
{
    for (const char rank : {'0', '1'})
        editPickle(shard(run, rank),
            [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
                for (const int64_t group : {0, 1, 2}) {
                    const NodeId old = entryOf(graph, group);
                    const NodeId entry = builder.dict();
                    const NodeId nested = builder.dict();
                    for (const char* name : {"exp_avg", "exp_avg_sq"})
                        builder.setItem(
                            nested, builder.string(name), importer.import(lookup(graph, old, name)));
                    builder.setItem(
                        entry, builder.string("step"), importer.import(lookup(graph, old, "step")));
                    builder.setItem(entry, builder.string(key), nested);
                    importer.substitute(old, entry);
                }
            });
}

/// Adds a value to the entry of group 0, or to a param group's options.
using MakeValue = std::function<NodeId(const PickleGraph&, PickleBuilder&, PickleImporter&)>;
void addTo(const fs::path& file, bool option, const std::string& name, const MakeValue& make)
{
    editPickle(file, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
        const NodeId to = option ? sequenceItems(graph, lookup(graph, baseOf(graph), "param_groups"))[0]
                                 : entryOf(graph, 0);
        builder.setItem(importer.import(to), builder.string(name), make(graph, builder, importer));
    });
}

MakeValue real(double value)
{
    return
        [value](const PickleGraph&, PickleBuilder& builder, PickleImporter&) { return builder.real(value); };
}

bool says(const Json& answer, const std::string& text)
{
    return answer.dump(-1, ' ', false, Json::error_handler_t::replace).find(text) != std::string::npos;
}

/// `name`: of the state; `what`: the class or the reason.
void checkUnread(
    const fs::path& run, const std::string& name, const std::string& what, const TemporaryFolder& folder)
{
    CAPTURE(name);
    const Json inspected = runVerb({"inspect", run}, 0);
    CHECK(inspected.at("supported") == true);
    CHECK(says(inspected, "optimizer state `" + name + "`"));
    CHECK(says(inspected, what));
    CHECK(says(runVerb({"reshard", run, folder / "out", "-w", "1"}, 4), "optimizer state `"));
    CHECK(says(
        runVerb({"reshard", run, folder / "out", "-w", "2", "--allow", "not-supported"}, 4), "optimizer"));
    runVerb({"convert", run, folder / "out", "--to", "universal"}, 4);
    runVerb({"convert", run, folder / "out", "--to", "dcp"}, 4);
    runVerb({"fingerprint", run}, 4);
    CHECK(!fs::exists(folder / "out"));
    const Json compared = runVerb({"diff", run, run}, 6);
    CHECK(compared.at("equal") == false);
    CHECK(compared.at("verdict") == "same-in-part");
    CHECK(compared.at("not_compared").at("why") == Json({"not-supported"}));
    CHECK(compared.at("not_compared").at("tensors").get<int>() > 0);
    runVerb({"diff", run, run, "--allow", "rank-missing"}, 6);
    runVerb({"diff", run, run, "--allow", "not-supported"}, 0);
    CHECK(runVerb({"diff", run, run, "--state", "fp32"}, 0).at("equal") == true);
    runVerb({"export", run, folder / ("weights-" + run.filename().string())}, 0);
    runVerb({"check", run}, 0);
}

NodeId otherTensor(const PickleGraph& graph, PickleBuilder&, PickleImporter& importer)
{
    return importer.import(lookup(graph, entryOf(graph, 2), "exp_avg"));
}

NodeId ofSubclass(const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer)
{
    const NodeId old = lookup(graph, entryOf(graph, 0), "exp_avg");
    const NodeId arguments[] = {importer.import(graph.callable(old)), builder.global("quant", "Packed"),
        importer.import(graph.arguments(old)), builder.dict()};
    return builder.reduce(builder.global("torch._tensor", "_rebuild_from_type_v2"), builder.tuple(arguments));
}

NodeId longList(const PickleGraph&, PickleBuilder& builder, PickleImporter&)
{
    std::vector<NodeId> items;
    for (int i = 0; i < 1280; ++i)
        items.push_back(builder.real(i));
    return builder.list(items);
}

} // namespace

TEST_CASE("states of 8-bit optimizers in nested dicts and as tensor subclasses")
{
    const TemporaryFolder folder;
    checkUnread(samplePath("bnb8bit-w2"), "absmax1", "8-bit optimizer (bitsandbytes)", folder);
    runVerb({"export", samplePath("bnb8bit-w2"), folder / "codes", "--states", "state1"}, 4);
    checkUnread(samplePath("torchao8bit-w2"), "exp_avg", "OptimState8bit", folder);
}

TEST_CASE("32-bit states in a nested dict are states")
{
    for (const auto& [key, prefix] :
        {std::pair("__bnb_optimizer_quant_state__", ""), std::pair("inner", "inner.")}) {
        CAPTURE(key);
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        nest(run, key);
        const Json states = runVerb({"inspect", run}, 0).at("states");
        CHECK(std::count(states.begin(), states.end(), std::string(prefix) + "exp_avg_sq") == 1);
        runVerb({"reshard", run, folder / "three", "-w", "3"}, 0);
        CHECK(runVerb({"diff", run, folder / "three"}, 0).at("equal") == true);
        runVerb({"verify", folder / "three", "--against", run}, 0);
        const bool same = std::string(prefix).empty();
        runVerb({"diff", samplePath("zero2-w2"), folder / "three"}, same ? 0 : 1);
        const auto opened = openFull(folder / "three");
        REQUIRE(opened.has_value());
        for (const FileId file : (*opened)->optimFiles) {
            const PickleGraph& graph = (*opened)->file(file).content->pickle();
            const NodeId nested = lookup(graph, entryOf(graph, 0), key);
            CHECK(lookup(graph, nested, "exp_avg") != kNoNode); // in the form that stock loads
            CHECK(lookup(graph, entryOf(graph, 0), "exp_avg") == kNoNode);
            CHECK(lookup(graph, entryOf(graph, 0), "step") != kNoNode);
        }
        runVerb({"convert", run, folder / "universal", "--to", "universal"}, 0);
        CHECK(runVerb({"diff", run, folder / "universal"}, 0).at("equal") == true);
    }
}

TEST_CASE("every kind of state that is not understood is named")
{
    struct Odd {
        const char* state;
        const char* reason;
        std::function<void(const fs::path&)> change;
    };
    const auto onBoth = [](const std::string& name, const MakeValue& make) {
        return [name, make](const fs::path& run) {
            for (const char rank : {'0', '1'})
                addTo(shard(run, rank), false, name, make);
        };
    };
    const auto perRank = [](const std::string& name) {
        return [name](const fs::path& run) {
            addTo(shard(run, '0'), false, name, real(1));
            addTo(shard(run, '1'), false, name, real(2));
        };
    };
    const auto ofOptimizer = [&](const std::string& name, const MakeValue& make) {
        return [name, make](const fs::path& run) {
            for (const char rank : {'0', '1'})
                editPickle(shard(run, rank),
                    [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
                        builder.setItem(importer.import(baseOf(graph)), builder.string(name),
                            make(graph, builder, importer));
                    });
        };
    };
    const Odd kinds[] = {
        {"absmax1", "8-bit optimizer (bitsandbytes)", onBoth("absmax1", otherTensor)},
        {"exp_avg_sq_row", "sums over rows and columns", onBoth("exp_avg_sq_row", otherTensor)},
        {"worker_error", "1-bit optimizers", onBoth("worker_error", otherTensor)},
        {"preconditioner", "has the shape", onBoth("preconditioner", otherTensor)},
        {"packed", "quant.Packed", onBoth("packed", ofSubclass)},
        {"history", "a list of 1280", onBoth("history", longList)},
        {"rms", "not the same on all ranks", perRank("rms")},
        {"late", "the other ranks do not have it",
            [&](const fs::path& run) { addTo(shard(run, '1'), false, "late", otherTensor); }},
        {"slow_state", "a mapping",
            ofOptimizer("slow_state",
                [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
                    const NodeId slow = builder.dict();
                    builder.setItem(slow, builder.integer(0),
                        importer.import(lookup(graph, entryOf(graph, 0), "exp_avg")));
                    return slow;
                })},
    };
    for (const Odd& kind : kinds) {
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        kind.change(run);
        checkUnread(run, kind.state, kind.reason, folder);
    }
}

TEST_CASE("an entry that is no mapping, and one that no group lists")
{
    for (const bool listed : {true, false}) {
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        for (const char rank : {'0', '1'})
            editPickle(shard(run, rank),
                [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
                    const NodeId tensor = importer.import(lookup(graph, entryOf(graph, 0), "exp_avg"));
                    if (listed)
                        importer.substitute(entryOf(graph, 0), builder.list(std::vector{tensor, tensor}));
                    else
                        builder.setItem(importer.import(lookup(graph, baseOf(graph), "state")),
                            builder.string("global"), tensor);
                });
        checkUnread(
            run, listed ? "entry" : "global", listed ? "a list of 2" : "no param group lists it", folder);
    }
}

TEST_CASE("plain values of an optimizer are carried, compared and digested")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const auto set = [](const fs::path& to, double value) {
        for (const char rank : {'0', '1'})
            addTo(shard(to, rank), false, "mu_product", real(value));
    };
    set(run, 0.25);
    const Json first = runVerb({"fingerprint", run}, 0);
    CHECK(first.at("fingerprint") != runVerb({"fingerprint", samplePath("zero2-w2")}, 0).at("fingerprint"));
    CHECK(says(runVerb({"diff", run, samplePath("zero2-w2")}, 1), "mu_product"));
    runVerb({"reshard", run, folder / "three", "-w", "3"}, 0);
    CHECK(runVerb({"fingerprint", folder / "three"}, 0).at("fingerprint") == first.at("fingerprint"));
    CHECK(says(runVerb({"convert", run, folder / "u", "--to", "universal"}, 4), "mu_product"));
    CHECK(says(runVerb({"convert", run, folder / "u", "--to", "dcp"}, 4), "mu_product"));
    const TemporaryFolder elsewhere;
    const fs::path other = copySample("zero2-w2", elsewhere);
    set(other, 0.5);
    CHECK(says(runVerb({"diff", other, folder / "three"}, 1), "mu_product"));
}

TEST_CASE("options that every rank estimates are no damage")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    addTo(shard(run, '0'), true, "d", real(1e-6));
    addTo(shard(run, '1'), true, "d", real(2e-6));
    const Json inspected = runVerb({"inspect", run}, 0);
    CHECK(says(inspected, "its own estimates"));
    for (const Json& finding : inspected.at("findings"))
        CHECK(finding.at("severity") != "error");
    runVerb({"check", run, "--fail-on", "warning"}, 0);
    runVerb({"export", run, folder / "weights"}, 0);
    runVerb({"fingerprint", run}, 4);
    CHECK(runVerb({"diff", run, run}, 6).at("not_compared").at("why") == Json({"option-mismatch"}));
    CHECK(says(runVerb({"reshard", run, folder / "out", "-w", "3"}, 6), "`d` of group0"));
    CHECK(says(
        runVerb({"reshard", run, folder / "out", "-w", "3", "--allow", "option-mismatch"}, 0), "its own"));
    CHECK(says(runVerb({"inspect", folder / "out"}, 0), "marked"));
    addTo(shard(run, '0'), true, "threshold", real(3));
    addTo(shard(run, '1'), true, "threshold", real(4));
    runVerb({"check", run, "--fail-on", "error"}, 0);
    runVerb({"check", run, "--fail-on", "warning"}, 1);
    runVerb({"repair", run, folder / "repaired", "--fix", "option-mismatch"}, 3);
}

TEST_CASE("small tensors among the options are numbers")
{
    const auto stepAs = [](const PickleGraph& graph, PickleBuilder&, PickleImporter& importer) {
        return importer.import(lookup(graph, entryOf(graph, 0), "step"));
    };
    const TemporaryFolder folder;
    const fs::path tensor = copySample("zero2-w2", folder);
    for (const char rank : {'0', '1'})
        addTo(shard(tensor, rank), true, "lr", stepAs);
    const TemporaryFolder elsewhere;
    const fs::path number = copySample("zero2-w2", elsewhere);
    for (const char rank : {'0', '1'})
        addTo(shard(number, rank), true, "lr", real(6));
    CHECK(runVerb({"diff", tensor, number}, 0).at("equal") == true);
    CHECK(runVerb({"fingerprint", tensor}, 0).at("fingerprint")
        == runVerb({"fingerprint", number}, 0).at("fingerprint"));
    const Json differs = runVerb({"diff", tensor, samplePath("zero2-w2")}, 1);
    CHECK(says(differs, "\"name\":\"lr\""));
    CHECK(!differs.at("updates").empty()); // the next steps are not equal
    CHECK(says(runVerb({"check", tensor, "--fail-on", "warning"}, 1), "the scheduler set"));
    addTo(shard(tensor, '1'), true, "lr", real(7));
    CHECK(says(runVerb({"inspect", tensor}, 0), "option-mismatch"));
}
