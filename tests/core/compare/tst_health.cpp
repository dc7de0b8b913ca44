// SPDX-License-Identifier: Apache-2.0
// Health of training states: figures of real samples, and alarms about tags that are written out.
#include "core/checkpoint/open/open.h"
#include "core/compare/digest/tensor_statistics.h"
#include "core/compare/health/health_alarms.h"
#include "core/layout/fragments.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr double kCount = 1000;
constexpr uint64_t kElements = 1000;

StateHealth stateOf(const char* name, double rms)
{
    StateHealth out;
    out.state = name;
    out.read = kElements;
    out.zeros = rms == 0 ? kElements : 0;
    out.count = kCount;
    out.squares = kCount * rms * rms;
    out.magnitudes = kCount * rms;
    out.min = -rms;
    out.max = rms;
    return out;
}

/// Adam at a steady state: rms of the weights 0.02, of gradients 0.001.
HealthRow layerOf(uint32_t number, double step, double weights = 0.02, double gradients = 1e-3)
{
    HealthRow out;
    out.name = "model.layers." + std::to_string(number);
    out.parameters = 1;
    out.elements = kElements;
    out.states = {stateOf("fp32", weights), stateOf("exp_avg", gradients / 3),
        stateOf("exp_avg_sq", gradients * gradients)};
    out.rule = {UpdateKind::Adam, 1e-4, 0.9, 0.999, 1e-8, 0.1, true, true, step};
    out.updated = kCount;
    out.updateSquares = kCount * 1e-9;
    out.weightSquares = kCount * weights * weights;
    out.firstStep = out.lastStep = step;
    return out;
}

TagHealth tagAt(int64_t step)
{
    TagHealth out;
    out.tag = "global_step" + std::to_string(step);
    out.step = step;
    for (uint32_t i = 0; i < 8; ++i)
        out.layers.push_back(layerOf(i, static_cast<double>(step), 0.02 + 1e-3 * i));
    out.groups.push_back({0, out.layers.front().rule, std::nullopt});
    out.ranks = {{{0, 0, 0}, "a" + out.tag}, {{1, 0, 0}, "b" + out.tag}};
    return out;
}

std::vector<TagHealth> soundRun()
{
    return {tagAt(1000), tagAt(1010), tagAt(1020), tagAt(1030)};
}

void checkOnly(
    const std::vector<HealthAlarm>& alarms, std::string_view code, const char* tag, const char* layer)
{
    REQUIRE(alarms.size() == 1);
    CHECK(alarms[0].code == code);
    CHECK(alarms[0].tag == tag);
    CHECK(alarms[0].layer == layer);
}

} // namespace

TEST_CASE("a sound run has no alarm, whole or tag by tag")
{
    CHECK(findAlarms(soundRun()).empty());
    CHECK(findAlarms({tagAt(1)}).empty());
    CHECK(findAlarms({}).empty());
}

TEST_CASE("each kind of fault is named with its layer, tag and rank")
{
    auto run = soundRun();
    run[3].layers[5].updateSquares *= 1600;
    auto found = findAlarms(run);
    checkOnly(found, kUpdateOutlier, "global_step1030", "model.layers.5");
    CHECK(found[0].text == "model.layers.5: update 40 × that of its neighbours");

    run = soundRun();
    run[2].layers[1].states[1].nans = 3;
    checkOnly(findAlarms(run), kNotFinite, "global_step1020", "model.layers.1");

    run = soundRun();
    run[1].layers[7] = layerOf(7, 1010, 0.027 * 1.5);
    for (size_t i : {2, 3})
        run[i].layers[7] = layerOf(7, run[i].layers[7].rule.step, 0.027 * 1.5);
    checkOnly(findAlarms(run), kWeightsMoved, "global_step1010", "model.layers.7");

    run = soundRun(); // from 1e-6, in 10 steps, even without any gradient: 0.99e-6
    run[3].layers[2].states[2] = stateOf("exp_avg_sq", 0.9e-6);
    checkOnly(findAlarms(run), kMomentsReset, "global_step1030", "model.layers.2");
    run[3].layers[2].states[2] = stateOf("exp_avg_sq", 0.98e-6);
    CHECK(findAlarms(run).empty());

    run = soundRun();
    for (HealthRow& row : run[3].layers)
        row.firstStep = row.lastStep = 10;
    found = findAlarms(run);
    checkOnly(found, kMomentsReset, "global_step1030", "");
    CHECK(found[0].text.find("10 steps old, the run made 1030") != std::string::npos);

    run = soundRun();
    run[2].groups[0].rule.learningRate *= 100;
    checkOnly(findAlarms(run), kLearningRateSpike, "global_step1020", "");
    run[2].groups[0].plannedRate = 1; // by its schedule
    CHECK(findAlarms(run).empty());

    run = soundRun();
    run[3].ranks[1].digest = run[1].ranks[1].digest;
    found = findAlarms(run);
    checkOnly(found, kRankStale, "global_step1030", "");
    CHECK(found[0].rank == RankCoordinate{1, 0, 0});
    CHECK(found[0].text.find("still that of global_step1010") != std::string::npos);
}

TEST_CASE("what cannot be judged is named or left out, never called sound or wrong")
{
    auto run = soundRun();
    run[3].layers[2].states[2] = stateOf("exp_avg_sq", 0.5e-6);
    run[3].layers[2].states[2].missing = 10; // not the same elements
    checkOnly(findAlarms(run), kNotRead, "global_step1030", "model.layers.2");
    CHECK(findAlarms(run).front().severity == Severity::Info);

    run = soundRun();
    run[1] = TagHealth();
    run[1].tag = "global_step1010";
    run[1].error = Error{ErrorCode::Unreadable, "no", {}};
    checkOnly(findAlarms(run), kNotRead, "global_step1010", "");
    CHECK(findAlarms(run).front().severity == Severity::Info);

    run = soundRun(); // a rank that was never trained: all zeros
    for (TagHealth& tag : run)
        tag.ranks[1].digest.clear();
    CHECK(findAlarms(run).empty());

    run = soundRun();
    for (TagHealth& tag : run)
        tag.layers.resize(4); // too few that are alike
    run[3].layers[3].updateSquares *= 1600;
    CHECK(findAlarms(run).empty());
}

TEST_CASE("what a tag does not have, or cannot be read, is said, and is not wrong")
{
    TagHealth tag = tagAt(1000);
    CHECK(notJudgedText(tag).empty());
    CHECK(wasRead(tag));
    for (HealthRow& row : tag.layers) {
        row.updated = 0;
        row.noUpdate = NoUpdate::UnknownRule;
    }
    CHECK(notJudgedText(tag) == "updates: the rule of this optimizer is not known");
    for (HealthRow& row : tag.layers)
        row.states.resize(1);
    CHECK(notJudgedText(tag) == "updates and moments: there are no optimizer states");
    for (HealthRow& row : tag.layers) {
        row.states.front().missing = std::exchange(row.states.front().read, 0);
        row.states.front().count = 0;
    }
    CHECK_FALSE(wasRead(tag));
    CHECK(notJudgedText(tag) == "weights and moments: no values can be read");
    const auto alarms = findAlarms({tag});
    CHECK(alarms.size() == tag.layers.size());
    CHECK(countWrong(alarms) == 0);
}

TEST_CASE("sums of all samples are those of the statistics, and updates follow from values")
{
    JobContext job;
    size_t compared = 0;
    size_t updates = 0;
    for (const auto& folder : fs::directory_iterator(fs::path(sourceFolder()) / "tests/data/samples")) {
        if (!folder.is_directory())
            continue;
        CAPTURE(folder.path().string());
        const auto opened = openCheckpoint(io::realFileSystem(), folder.path(), {}, job);
        REQUIRE(opened);
        const Checkpoint& checkpoint = *opened->checkpoint;
        if (checkpoint.modelError)
            continue;
        REQUIRE(computeHealth(io::realFileSystem(), {checkpoint, healthParams(checkpoint), true},
            {2, plainBackend()}, job, [&](ParamId param, const HealthRow& row) -> Status {
                std::vector<TensorAsked> tensors;
                for (const StateHealth& state : row.states)
                    tensors.push_back({param, state.state});
                size_t next = 0;
                REQUIRE(computeStatistics(io::realFileSystem(), {checkpoint, tensors, true},
                    {1, plainBackend()}, job, [&](const TensorStatistics& one) -> Status {
                        const StateHealth& state = row.states[next++];
                        CHECK(state.read == one.found.elements);
                        CHECK(state.zeros == one.found.zeros);
                        CHECK(state.missing == one.missing);
                        if (one.found.finite() > 0)
                            CHECK(state.l2() == doctest::Approx(one.found.l2()).epsilon(1e-9));
                        ++compared;
                        return {};
                    }));
                updates += row.updated > 0 ? 1 : 0;
                CHECK((row.updated > 0) == (row.noUpdate == NoUpdate::Known));
                return {};
            }));
    }
    CHECK(compared > 1000);
    CHECK(updates > 300);
}

TEST_CASE("a history is read once, and again when a file changed")
{
    TemporaryFolder folder;
    const fs::path run = folder / "run";
    fs::copy(fs::path(sourceFolder()) / "tests/data/samples/zero2-w2", run, fs::copy_options::recursive);
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), run, {}, job);
    REQUIRE(opened);
    const HealthCache cache(io::realFileSystem(), folder / "cache");
    const std::string tag = opened->checkpoint->tag;
    const auto read = [&] {
        auto history = readHistory(
            io::realFileSystem(), {run, {tag, "missing"}, {}, false}, cache, {1, plainBackend()}, job);
        REQUIRE(history);
        REQUIRE(history->size() == 2);
        CHECK((*history)[1].error.has_value());
        return (*history)[0];
    };
    const TagHealth first = read();
    CHECK(first.layers.size() > 3);
    CHECK(first.params.size() > first.layers.size());
    CHECK(first.ranks.size() == 2);
    REQUIRE(cache.find(*opened->checkpoint, false));
    CHECK_FALSE(cache.find(*opened->checkpoint, true));
    const TagHealth again = read();
    REQUIRE(again.layers.size() == first.layers.size());
    for (size_t i = 0; i < first.layers.size(); ++i) {
        CHECK(again.layers[i].name == first.layers[i].name);
        CHECK(again.layers[i].updateSquares == first.layers[i].updateSquares);
        CHECK(again.layers[i].weights().squares == first.layers[i].weights().squares);
    }
    CHECK(again.ranks[1].digest == first.ranks[1].digest);

    for (const auto& file : fs::directory_iterator(folder / "cache")) { // damaged: read again
        fs::resize_file(file.path(), fs::file_size(file.path()) - 1);
        CHECK_FALSE(cache.find(*opened->checkpoint, false));
    }
    for (const auto& file : fs::directory_iterator(run / tag))
        fs::last_write_time(file.path(), fs::file_time_type::clock::now());
    const auto changed = openCheckpoint(io::realFileSystem(), run, {}, job);
    REQUIRE(changed);
    CHECK_FALSE(cache.find(*changed->checkpoint, false));
}
