// SPDX-License-Identifier: Apache-2.0
// Elements read back from files that the test wrote completely.
#include "core/io/forwarding_file_system.h"
#include "core/layout/box_elements.h"
#include "core/layout/fragments.h"
#include "core/layout/present_elements.h"
#include "tests/support/synthetic_checkpoint.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>

using namespace shardscope;

namespace {

/// A value that no other (state, parameter, element) has.
uint32_t valueOf(std::string_view state, ParamId param, uint64_t element)
{
    return static_cast<uint32_t>(state.size() * 10'000'000 + index(param) * 10'000 + element);
}

class Files
{
public:
    explicit Files(const Checkpoint& checkpoint)
    {
        for (const CheckpointFile& file : checkpoint.files)
            m_bytes.emplace_back(file.identity.bytes, '\xEE'); // garbage between the values
    }

    void put(FileId file, uint64_t byte, uint32_t value, uint32_t itemBytes)
    {
        std::memcpy(m_bytes[index(file)].data() + byte, &value, itemBytes);
    }

    void write(Checkpoint& checkpoint, const std::filesystem::path& folder) const
    {
        for (size_t i = 0; i < checkpoint.files.size(); ++i) {
            CheckpointFile& file = checkpoint.files[i];
            if (file.status == FileStatus::Missing)
                continue;
            file.path = folder / file.name;
            test::spill(file.path, m_bytes[i]);
            file.identity = io::realFileSystem().stat(file.path).value().identity;
        }
    }

private:
    std::vector<std::string> m_bytes;
};

/// The way DeepSpeed puts elements into flat buffers and whole tensors, element by element.
void fill(Checkpoint& checkpoint, const std::filesystem::path& folder)
{
    Files files(checkpoint);
    for (const FlatUnit& unit : checkpoint.units) {
        for (const UnitState& state : unit.states) {
            for (uint32_t i = 0; i < unit.params.size(); ++i) {
                for (uint64_t element = 0; element < unit.partition.paramElements(i); ++element) {
                    const auto at = unit.partition.positionOf(i, element);
                    const StoredRun& run = state.perRank[at.rank];
                    if (run.isPresent())
                        files.put(run.file, run.byteOffset + at.flatOffset * itemSize(state.dtype),
                            valueOf(state.name, unit.params[i], element), itemSize(state.dtype));
                }
            }
        }
    }
    for (const WholeTensor& whole : checkpoint.whole) {
        const Parameter& param = checkpoint.params[index(whole.param)];
        for (uint64_t element = 0; element < param.elements; ++element) {
            const uint64_t columns = param.shape.size() == 2 ? param.shape[1] : 1;
            const uint64_t offset = whole.contiguous
                ? element
                : element / columns * whole.strides[0] + element % columns * whole.strides[1];
            files.put(whole.run.file, whole.run.byteOffset + offset * itemSize(whole.dtype),
                valueOf("weight", whole.param, element), itemSize(whole.dtype));
        }
    }
    files.write(checkpoint, folder);
}

test::SyntheticOptions model(int stage, uint32_t ranks)
{
    test::SyntheticOptions options;
    options.stage = stage;
    options.ranks = ranks;
    options.groups = 2;
    options.shapes = {{"a", {7, 5}}, {"b", {3}}, {"c", {16, 9}}, {"one", {1}}, {"d", {11, 2}}};
    options.frozen = 1;
    options.buffers = 1;
    options.aliases = 1;
    options.subGroupSize = 20;
    return options;
}

using Gaps = std::vector<std::pair<uint64_t, uint64_t>>;

/// Counts the calls for many files or ranges; single ones are none of them.
class CountedFiles : public io::ForwardingFileSystem
{
public:
    CountedFiles()
        : ForwardingFileSystem(io::realFileSystem())
    {
    }
    std::vector<Opened> openReadAll(std::span<const io::Path> paths) override
    {
        ++opens;
        return ForwardingFileSystem::openReadAll(paths);
    }
    std::vector<Status> readAll(std::span<const io::ReadRange> ranges) override
    {
        ++reads;
        return ForwardingFileSystem::readAll(ranges);
    }
    int opens = 0;
    int reads = 0;
};

/// The first range cannot be read, and then the job is stopped.
class GivenUpFiles : public io::ForwardingFileSystem
{
public:
    GivenUpFiles()
        : ForwardingFileSystem(io::realFileSystem())
    {
    }
    std::vector<Status> readAll(std::span<const io::ReadRange> ranges) override
    {
        std::vector<Status> out;
        for (; out.size() < ranges.size(); ++asked)
            out.push_back(
                asked == 0 ? fail(ErrorCode::Unreadable, "broken") : fail(ErrorCode::Cancelled, "stopped"));
        return out;
    }
    size_t asked = 0;
};

} // namespace

TEST_CASE("random ranges of every state come back as they were written")
{
    std::mt19937_64 random(3);
    const auto pick = [&](uint64_t high) { return std::uniform_int_distribution<uint64_t>(0, high)(random); };
    for (const int stage : {2, 3}) {
        for (const uint32_t ranks : {1u, 3u, 8u}) {
            CAPTURE(stage);
            CAPTURE(ranks);
            const test::TemporaryFolder folder;
            Checkpoint checkpoint = test::buildSyntheticCheckpoint(model(stage, ranks));
            if (stage == 2) { // one tensor is stored transposed
                checkpoint.whole[2].contiguous = false;
                checkpoint.whole[2].strides = {1, 16};
            }
            fill(checkpoint, folder.path());
            for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
                const ParamId owner = checkpoint.params[i].sharedWith == kNoParam
                    ? ParamId{i}
                    : checkpoint.params[i].sharedWith;
                for (const std::string& state : statesOf(checkpoint, ParamId{i})) {
                    const uint32_t itemBytes = itemSize(findState(checkpoint, ParamId{i}, state)->dtype);
                    for (int repeat = 0; repeat < 8; ++repeat) {
                        uint64_t begin = pick(checkpoint.params[i].elements);
                        uint64_t end = repeat == 0 ? checkpoint.params[i].elements
                                                   : pick(checkpoint.params[i].elements);
                        if (repeat == 0)
                            begin = 0;
                        if (begin > end)
                            std::swap(begin, end);
                        std::vector<uint8_t> out((end - begin) * itemBytes);
                        REQUIRE(readElements(
                            io::realFileSystem(), checkpoint, {ParamId{i}, state, begin, end}, out));
                        for (uint64_t element = begin; element < end; ++element) {
                            const uint32_t expected = valueOf(state, owner, element);
                            REQUIRE(
                                std::memcmp(out.data() + (element - begin) * itemBytes, &expected, itemBytes)
                                == 0);
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("a transposed tensor larger than the window")
{
    const test::TemporaryFolder folder;
    test::SyntheticOptions options;
    options.stage = 2;
    options.ranks = 1;
    options.shapes = {{"wide", {1'500, 6'000}}}; // 18 MB of bfloat16
    Checkpoint checkpoint = test::buildSyntheticCheckpoint(options);
    checkpoint.whole[0].contiguous = false;
    checkpoint.whole[0].strides = {1, 1'500};
    fill(checkpoint, folder.path());
    std::vector<uint8_t> out(checkpoint.params[0].elements * 2);
    REQUIRE(readElements(
        io::realFileSystem(), checkpoint, {ParamId{0}, "weight", 0, checkpoint.params[0].elements}, out));
    uint64_t wrong = 0;
    for (uint64_t element = 0; element < checkpoint.params[0].elements; ++element) {
        const uint32_t expected = valueOf("weight", ParamId{0}, element);
        wrong += std::memcmp(out.data() + element * 2, &expected, 2) == 0 ? 0 : 1;
    }
    CHECK(wrong == 0);
    const auto list = fragmentsOf(checkpoint, ParamId{0}, "weight", 0, checkpoint.params[0].elements);
    CHECK(list.error().code == ErrorCode::LimitExceeded);
}

TEST_CASE("unreadable elements are refused, and the error names what is missing")
{
    const test::TemporaryFolder folder;
    test::SyntheticOptions options = model(3, 3);
    options.missingRanks = {1};
    Checkpoint checkpoint = test::buildSyntheticCheckpoint(options);
    fill(checkpoint, folder.path());
    auto& files = io::realFileSystem();
    std::vector<uint8_t> out(35 * 4);
    const std::span<uint8_t> all(out);
    // 35 elements, 12 on each rank: those of rank 1 are not there
    CHECK(readElements(files, checkpoint, {ParamId{0}, "fp32", 0, 12}, all.first(48)));
    CHECK(readElements(files, checkpoint, {ParamId{0}, "fp32", 24, 35}, all.first(44)));
    const auto refused = readElements(files, checkpoint, {ParamId{0}, "fp32", 0, 35}, all);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::Refused);
    CHECK(refused.error().message.find("dp1.tp0.pp0") != std::string::npos);

    CHECK(readElements(files, checkpoint, {ParamId{0}, "fp32", 0, 12}, all.first(47)).error().code
        == ErrorCode::Usage);
    CHECK(readElements(files, checkpoint, {ParamId{0}, "fp32", 30, 36}, all.first(24)).error().code
        == ErrorCode::Usage);
    CHECK(readElements(files, checkpoint, {ParamId{0}, "sum", 0, 1}, all.first(4)).error().code
        == ErrorCode::NotFound);

    // A file that was replaced is not read.
    const auto path = checkpoint.file(checkpoint.optimFiles[0]).path;
    test::spill(path, test::slurp(path) + "x");
    CHECK(readElements(files, checkpoint, {ParamId{0}, "fp32", 0, 12}, all.first(48)).error().code
        == ErrorCode::SourceChanged);
    std::filesystem::remove(path);
    CHECK(readElements(files, checkpoint, {ParamId{0}, "fp32", 0, 12}, all.first(48)).error().code
        == ErrorCode::NotFound);

    Checkpoint odd = test::buildSyntheticCheckpoint(model(2, 1));
    odd.whole[0].contiguous = false; // strides for another number of dimensions
    odd.whole[0].strides = {1};
    CHECK(readElements(files, odd, {ParamId{0}, "weight", 0, 3}, all.first(6)).error().code
        == ErrorCode::Damaged);
}

/// Every element by itself; what cannot be read is left as it is.
Gaps readEach(
    const Checkpoint& checkpoint, const StateRuns& wanted, std::span<uint8_t> out, uint32_t itemBytes)
{
    Gaps missing;
    for (const auto& [begin, end] : wanted.runs) {
        for (uint64_t element = begin; element < end; ++element, out = out.subspan(itemBytes)) {
            if (!readElements(io::realFileSystem(), checkpoint,
                    {wanted.param, wanted.state, element, element + 1}, out.first(itemBytes)))
                missing.emplace_back(element, element + 1);
        }
    }
    std::ranges::sort(missing);
    return missing;
}

/// Some runs of a state, in any order.
StateRuns runsOf(ParamId param, const std::string& state, uint64_t elements, std::mt19937_64& random)
{
    StateRuns out{param, state, {}};
    for (uint64_t at = 0; at < elements; at += random() % 3) {
        const uint64_t end = std::min(at + 1 + random() % 4, elements);
        out.runs.emplace_back(at, end);
        at = end;
    }
    std::shuffle(out.runs.begin(), out.runs.end(), random);
    return out;
}

/// `isCut`: a file ends early, so that what could be read of a piece is lost with it.
void checkRuns(const Checkpoint& checkpoint, const StateRuns& wanted, const StateSource& source, bool isCut)
{
    const uint32_t itemBytes = itemSize(source.dtype);
    uint64_t elements = 0;
    for (const auto& [begin, end] : wanted.runs)
        elements += end - begin;
    CountedFiles files;
    std::vector<uint8_t> out(elements * itemBytes, 0xAB);
    std::vector<uint8_t> expected(out);
    const Gaps gaps = readEach(checkpoint, wanted, expected, itemBytes);
    const auto missing = readPresentRuns(files, checkpoint, wanted, out);
    if (!missing) {
        CHECK(gaps.size() == elements); // nothing of it can be read
        return;
    }
    Gaps found;
    for (const auto& [begin, end] : *missing) {
        for (uint64_t element = begin; element < end; ++element)
            found.emplace_back(element, element + 1);
    }
    CHECK(std::ranges::includes(found, gaps));
    CHECK((isCut || found == gaps));
    size_t place = 0;
    for (const auto& [begin, end] : wanted.runs) {
        for (uint64_t element = begin; element < end; ++element, place += itemBytes) {
            if (!std::ranges::binary_search(found, std::pair(element, element + 1)))
                CHECK(std::memcmp(out.data() + place, expected.data() + place, itemBytes) == 0);
        }
    }
    if (source.whole == nullptr || source.whole->contiguous) {
        CHECK(files.opens == 1);
        CHECK(files.reads == 1);
    }
}

TEST_CASE("many runs are read as one by one, with one opening and one reading call")
{
    std::mt19937_64 random(5);
    for (const int stage : {2, 3}) {
        const test::TemporaryFolder folder;
        test::SyntheticOptions options = model(stage, 8);
        options.missingRanks = {3};
        Checkpoint checkpoint = test::buildSyntheticCheckpoint(options);
        if (stage == 2) {
            checkpoint.whole[2].contiguous = false;
            checkpoint.whole[2].strides = {1, 16};
        }
        fill(checkpoint, folder.path());
        if (stage == 3) // most of it is gone
            std::filesystem::resize_file(checkpoint.file(checkpoint.optimFiles[5]).path, 40);
        for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
            for (const std::string& state : statesOf(checkpoint, ParamId{i})) {
                CAPTURE(checkpoint.params[i].name);
                CAPTURE(state);
                const StateSource source = *findState(checkpoint, ParamId{i}, state);
                checkRuns(checkpoint, runsOf(ParamId{i}, state, source.elements, random), source, stage == 3);
            }
        }
    }
}

TEST_CASE("elements that a stop left unread are not missing, also after others that are")
{
    const test::TemporaryFolder folder;
    Checkpoint checkpoint = test::buildSyntheticCheckpoint(model(3, 8));
    fill(checkpoint, folder.path());
    size_t stopped = 0;
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        const std::vector<std::string> states = statesOf(checkpoint, ParamId{i});
        const auto source = states.empty() ? std::nullopt
                                           : std::optional(*findState(checkpoint, ParamId{i}, states.back()));
        if (!source)
            continue;
        GivenUpFiles files;
        std::vector<uint8_t> bytes(source->elements * itemSize(source->dtype));
        const auto read
            = readPresentRuns(files, checkpoint, {ParamId{i}, states.back(), {{0, source->elements}}}, bytes);
        if (files.asked < 2)
            continue;
        CHECK((!read && read.error().code == ErrorCode::Cancelled));
        ++stopped;
    }
    CHECK(stopped > 0);
}

TEST_CASE("boxes of every state come back row by row, and nothing else is read")
{
    std::mt19937_64 random(8);
    const auto pick = [&](uint64_t high) { return std::uniform_int_distribution<uint64_t>(0, high)(random); };
    JobContext job;
    for (const int stage : {2, 3}) {
        const test::TemporaryFolder folder;
        Checkpoint checkpoint = test::buildSyntheticCheckpoint(model(stage, 3));
        fill(checkpoint, folder.path());
        for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
            const Parameter& param = checkpoint.params[i];
            const ParamId owner = param.sharedWith == kNoParam ? ParamId{i} : param.sharedWith;
            for (const std::string& state : statesOf(checkpoint, ParamId{i})) {
                const uint32_t itemBytes = itemSize(findState(checkpoint, ParamId{i}, state)->dtype);
                for (int repeat = 0; repeat < 12; ++repeat) {
                    Box box = wholeBox(param.shape);
                    for (size_t d = 0; repeat > 0 && d < param.shape.size(); ++d) {
                        box.offsets[d] = pick(param.shape[d]);
                        box.sizes[d] = pick(param.shape[d] - box.offsets[d]);
                    }
                    std::vector<uint8_t> out;
                    REQUIRE(readBox(
                        io::realFileSystem(), checkpoint, {ParamId{i}, state, box},
                        [&](std::span<const uint8_t> bytes) {
                            out.insert(out.end(), bytes.begin(), bytes.end());
                            return Status();
                        },
                        job));
                    std::vector<uint8_t> expected;
                    for (uint64_t element = 0; element < param.elements; ++element) {
                        uint64_t rest = element;
                        bool inside = true;
                        for (size_t d = param.shape.size(); d-- > 0; rest /= param.shape[d]) {
                            const uint64_t at = rest % param.shape[d];
                            inside = inside && at >= box.offsets[d] && at - box.offsets[d] < box.sizes[d];
                        }
                        const uint32_t value = valueOf(state, owner, element);
                        const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
                        if (inside)
                            expected.insert(expected.end(), bytes, bytes + itemBytes);
                    }
                    REQUIRE(out == expected);
                }
            }
        }
    }
}

TEST_CASE("a box outside the tensor is refused")
{
    const test::TemporaryFolder folder;
    Checkpoint checkpoint = test::buildSyntheticCheckpoint(model(2, 2));
    fill(checkpoint, folder.path());
    JobContext job;
    const auto read = [&](const Box& box) {
        return readBox(
            io::realFileSystem(), checkpoint, {ParamId{0}, "fp32", box},
            [](std::span<const uint8_t>) { return Status(); }, job);
    };
    const Shape shape = checkpoint.params[0].shape;
    REQUIRE(shape.size() == 2);
    CHECK(read(wholeBox(shape)).has_value());
    for (const Box& box : {Box{{0}, {1}}, Box{{0, 0}, {shape[0] + 1, 1}}, Box{{shape[0] + 1, 0}, {0, 0}},
             Box{{1, 0}, {UINT64_MAX, 1}}, Box{{0, 1}, {1, shape[1]}}, Box{{0, 0}, {1}}, Box{}}) {
        const Status status = read(box);
        REQUIRE_FALSE(status.has_value());
        CHECK(status.error().code == ErrorCode::Usage);
    }
}
