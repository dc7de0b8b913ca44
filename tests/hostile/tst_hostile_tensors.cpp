// SPDX-License-Identifier: Apache-2.0
// Tensors with wrong records, in a rank's file and in the model file: reported, and never read as if they
// were right.
#include "tests/hostile/hostile_files.h"

#include "core/torchfile/pickle/pickle_values.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// Places in the arguments of _rebuild_tensor_v2.
enum Place : size_t { kStorage = 0, kOffset = 1, kSizes = 2, kStrides = 3 };

using Make = std::function<NodeId(PickleBuilder&)>;

/// The tensor with the wrong record: the first moment of group 0, the embedding of the module.
NodeId victimOf(const PickleGraph& graph)
{
    const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
    if (wrapper == kNoNode)
        return lookup(graph, lookup(graph, graph.root(), "module"), "tok_embeddings.weight");
    const NodeId states = lookup(graph, lookup(graph, wrapper, "base_optimizer_state"), "state");
    return lookup(graph, lookup(graph, states, int64_t{0}), "exp_avg");
}

DamageFile with(Place place, const Make& make)
{
    return [=](const fs::path& file) {
        editPickle(file, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
            const NodeId victim = victimOf(graph);
            REQUIRE(looksLikeTensor(graph, victim));
            importer.substitute(graph.items(graph.arguments(victim))[place], make(builder));
        });
    };
}

Make numbers(std::vector<int64_t> values)
{
    return [=](PickleBuilder& builder) {
        std::vector<NodeId> items;
        for (const int64_t value : values)
            items.push_back(builder.integer(value));
        return builder.tuple(items);
    };
}

Make number(int64_t value)
{
    return [=](PickleBuilder& builder) { return builder.integer(value); };
}

/// Another description of the victim's storage: its class, its record and its number of elements.
Make storage(const char* type, const char* key, const Make& elements)
{
    return [=](PickleBuilder& builder) {
        const NodeId items[] = {builder.string("storage"), builder.global("torch", type), builder.string(key),
            builder.string("cpu"), elements(builder)};
        return builder.persistentId(builder.tuple(items));
    };
}

/// A wrong record of one tensor leaves the names and the other tensors readable.
void checkWrongRecord(const std::string& name, Place place, const Make& make)
{
    checkReadable(name, "", kOneFileBad, kOneFileBad, with(place, make));
}

constexpr int64_t kHuge = int64_t{1} << 60;

} // namespace

TEST_CASE("sizes and strides that contradict each other")
{
    checkWrongRecord("2^60 elements", kSizes, numbers({kHuge}));
    checkWrongRecord("2^120 elements", kSizes, numbers({kHuge, kHuge}));
    checkWrongRecord("a negative size", kSizes, numbers({-1280}));
    checkWrongRecord("no sizes", kSizes, numbers({}));
    checkWrongRecord("too many sizes", kSizes, numbers(std::vector<int64_t>(65, 1)));
    checkWrongRecord(
        "a size that is a text", kSizes, [](PickleBuilder& builder) { return builder.string("1280"); });
    checkWrongRecord("one element too many", kSizes, numbers({1281}));
    checkWrongRecord("a stride of 2^60", kStrides, numbers({kHuge}));
    checkWrongRecord("a stride of 0, so that all elements overlap", kStrides, numbers({0}));
    checkWrongRecord("a negative stride", kStrides, numbers({-1}));
    checkWrongRecord("a stride of 2", kStrides, numbers({2}));
    checkWrongRecord("more strides than sizes", kStrides, numbers({1, 1, 1}));
}

TEST_CASE("offsets outside the storage")
{
    checkWrongRecord("one element on", kOffset, number(1));
    checkWrongRecord("2^60", kOffset, number(kHuge));
    checkWrongRecord("2^63 - 1", kOffset, number(INT64_MAX));
    checkWrongRecord("negative", kOffset, number(-1));
    checkWrongRecord("a real number", kOffset, [](PickleBuilder& builder) { return builder.real(0.5); });
}

TEST_CASE("storages that are not those of the archive")
{
    checkWrongRecord("shorter than the view", kStorage, storage("FloatStorage", "7", number(1)));
    checkWrongRecord("2^60 elements", kStorage, storage("FloatStorage", "7", number(kHuge)));
    checkWrongRecord("2^63 - 1 elements", kStorage, storage("DoubleStorage", "7", number(INT64_MAX)));
    checkWrongRecord("a negative count", kStorage, storage("FloatStorage", "7", number(-1)));
    checkWrongRecord("a record that is not there", kStorage, storage("FloatStorage", "4242", number(1280)));
    checkWrongRecord(
        "a path instead of a key", kStorage, storage("FloatStorage", "../../etc/passwd", number(1280)));
    checkWrongRecord("the pickle as data", kStorage, storage("ByteStorage", "../data.pkl", number(1280)));
    checkWrongRecord("a type that torch lacks", kStorage, storage("MadeUpStorage", "7", number(1280)));
}

TEST_CASE("a key of a storage that looks like one of those made while a result is composed")
{
    // A step counter of rank 0 is carried along as it is, between state tensors that are rebuilt.
    for (const std::string key : {"+0", "+1", "++0", "+4242424242", "+", "+x", "-1", "00"}) {
        CAPTURE(key);
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        const fs::path file = run / "global_step6/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt";
        NamedRecords records = recordsOf(file);
        records.insert(records.end() - 1, {"data/" + key, recordIn(records, "data/0")});
        writeRecords(file, records);
        editPickle(file, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
            const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
            const NodeId states = lookup(graph, lookup(graph, wrapper, "base_optimizer_state"), "state");
            const NodeId step = lookup(graph, lookup(graph, states, int64_t{0}), "step");
            importer.substitute(graph.items(graph.arguments(step))[kStorage],
                storage("FloatStorage", key.c_str(), number(1))(builder));
        });
        checkRow(run, kFine, "zero2", folder);
        runVerb({"reshard", run, folder / "out", "-w", "3"}, 0);
        runVerb({"verify", folder / "out", "--against", samplePath("zero2-w2")}, 0);
    }
}

TEST_CASE("a record that is shorter or longer than its storage")
{
    for (const char* const change : {"shorter", "longer", "empty", "missing"}) {
        const std::string what = change;
        checkReadable(what, "", kOneFileBad, kOneFileBad, [&](const fs::path& file) {
            NamedRecords records = recordsOf(file);
            std::string& payload = recordIn(records, "data/5");
            if (what == "shorter")
                payload.resize(payload.size() - 4);
            else if (what == "longer")
                payload.resize(payload.size() + 4);
            else
                payload.clear();
            if (what == "missing")
                std::erase_if(records, [](const auto& record) { return record.first == "data/5"; });
            writeRecords(file, records);
        });
    }
}

TEST_CASE("huge views of nothing are shown as what they are")
{
    // Valid for torch: 2^40 elements over one. The shape is not the parameter's, so no value is taken from
    // it.
    checkReadable("stride 0 over one element", "", kOneFileBad, kOneFileBad, [](const fs::path& file) {
        with(kStrides, numbers({0, 0}))(file);
        with(kSizes, numbers({int64_t{1} << 20, int64_t{1} << 20}))(file);
    });
}
