// SPDX-License-Identifier: Apache-2.0
// Distributed checkpoints as a source: our own, and those of FSDP, split by rows over ranks.
#include "tests/core/plan/dcp_folder.h"

#include "core/checkpoint/open/open.h"
#include "core/compare/digest/state_fingerprint.h"
#include "core/engine/verify/verify.h"
#include "core/layout/address.h"
#include "core/layout/fragments.h"
#include "core/plan/export/export.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <map>

using namespace shardscope;
using namespace shardscope::test;

namespace {

std::string textOf(const std::vector<uint8_t>& bytes)
{
    return {bytes.begin(), bytes.end()};
}

bool hasFinding(const Checkpoint& checkpoint, std::string_view code)
{
    return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(),
        [&](const Finding& finding) { return finding.code == code; });
}

} // namespace

TEST_CASE("the output of a conversion is read as the same tensors, steps and groups")
{
    for (const char* name : {"zero1-w2", "zero2-w2", "zero3-w4", "zenflow-w2", "stage0-fp32"}) {
        CAPTURE(std::string(name));
        const TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(name));
        JobContext job;
        const auto plan = planExport(
            io::realFileSystem(), source, {.format = ExportFormat::Dcp, .folderName = "out"}, job);
        REQUIRE(plan.has_value());
        plainWrite(**plan, folder.path());
        const CheckpointPtr found = openForPlan(folder / "out");
        CHECK(found->kind == CheckpointKind::Dcp);
        CHECK(found->complete);
        CHECK(found->groups.size() == source->groups.size());
        for (uint32_t i = 0; i < source->params.size(); ++i) {
            const Parameter& param = source->params[i];
            CAPTURE(param.name);
            const auto id = found->findParam(param.name);
            REQUIRE(id.has_value());
            CHECK((found->params[index(*id)].sharedWith == kNoParam) == (param.sharedWith == kNoParam));
            CHECK(found->params[index(*id)].shape == param.shape);
            if (param.role == ParamRole::Trainable)
                CHECK(found->params[index(*id)].group == param.group);
            for (const auto& state : statesOf(*source, ParamId{i})) {
                if (state == "weight" && param.role == ParamRole::Trainable)
                    continue; // a copy of the master
                CHECK(bytesOf(*found, param.name, std::string(state))
                    == bytesOf(*source, param.name, std::string(state)));
            }
            const FlatUnit* unit = source->unitOf(ParamId{i});
            if (unit != nullptr && unit->kind != UnitKind::Frozen)
                CHECK(found->unitOf(*id)->step == unit->step);
        }
    }
}

TEST_CASE("tensors that are split by rows over ranks are merged")
{
    const std::string weight = bytesFrom(1, 5 * 3 * 4);
    const std::string moment = bytesFrom(2, 5 * 3 * 4);
    const std::string frozen = bytesFrom(3, 7 * 4);
    DcpFolder folder;
    folder.add("model.a.weight", {5, 3}, weight, 2); // 2, 2 and 1 rows
    folder.add("optim.state.a.weight.exp_avg", {5, 3}, moment, 2);
    folder.add("optim.state.a.weight.step", {}, std::string("\0\0\x40\x40", 4), 1); // 3.0
    folder.add("model.frozen", {7}, frozen, 4);
    const CheckpointPtr found = openForPlan(folder.write());
    CHECK(found->complete);
    CHECK(found->findings.empty());
    CHECK(found->parallel.dp == 3);
    CHECK(textOf(bytesOf(*found, "a.weight", "fp32")) == weight);
    CHECK(textOf(bytesOf(*found, "a.weight", "exp_avg")) == moment);
    CHECK(textOf(bytesOf(*found, "frozen", "weight")) == frozen);
    CHECK(found->unitOf(*found->findParam("a.weight"))->step == 3.0);
    JobContext job;
    const auto plan
        = planExport(io::realFileSystem(), found, {.format = ExportFormat::Npy, .folderName = "out"}, job);
    REQUIRE(plan.has_value());
    CHECK(plainBytes(**plan, 0).ends_with(weight));
    const auto reshard = planReshard(io::realFileSystem(), found, {.worldSize = 2}, job);
    REQUIRE_FALSE(reshard.has_value());
    CHECK(reshard.error().code == ErrorCode::Refused);
    for (const char* lacking : {"param_groups.0.lr", "deepspeed.ds_version", "deepspeed.native_form"})
        CHECK(reshard.error().message.find(lacking) != std::string::npos);
}

TEST_CASE("a converted folder holds its source's training state, and converts back to it")
{
    for (const char* name :
        {"zero1-w2", "zero2-w2", "zero3-w4", "bf16opt-w2", "roundrobin-w3", "aligned-w2", "zenflow-w2",
            "stage0-fp32", "stage0-bf16", "muon-w3", "zero2-universal-w2/global_step5_universal"}) {
        CAPTURE(std::string(name));
        const TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(name));
        const CheckpointPtr found = converted(source, folder.path());
        const Workers workers{};
        JobContext job;
        const auto here = fingerprintState(io::realFileSystem(), found, workers, job);
        const auto there = fingerprintState(io::realFileSystem(), source, workers, job);
        REQUIRE_MESSAGE(here.has_value(), (here ? "" : describe(here.error())));
        CHECK(here->scalars.size() == there->scalars.size());
        for (size_t i = 0; i < std::min(here->scalars.size(), there->scalars.size()); ++i)
            CHECK_MESSAGE(here->scalars[i] == there->scalars[i], here->scalars[i].name, " ",
                here->scalars[i].state, " ", here->scalars[i].text, " | ", there->scalars[i].name, " ",
                there->scalars[i].state, " ", there->scalars[i].text);
        CHECK(here->states == there->states);
        CHECK(here->whole.text() == there->whole.text());
        CHECK(found->steps.globalSteps == source->steps.globalSteps);
        CHECK(found->precision == source->precision);
        CHECK(found->deepspeedVersion == source->deepspeedVersion);
        CHECK(found->zeroStage == source->zeroStage);
        for (uint32_t g = 0; g < found->groups.size() && source->kind != CheckpointKind::Zero3; ++g)
            CHECK(found->units[index(found->groups[g].units.front())].stepForm
                == source->units[index(source->groups[g].units.front())].stepForm);

        for (const int stage : {1, 2, 3}) {
            CAPTURE(stage);
            const TemporaryFolder target;
            const CheckpointPtr again = rewrite(found, {.worldSize = 3, .stage = stage}, target.path());
            CHECK(again->tag == "global_step" + std::to_string(*source->steps.globalSteps));
            const auto after = fingerprintState(io::realFileSystem(), again, workers, job);
            REQUIRE_MESSAGE(after.has_value(), (after ? "" : describe(after.error())));
            const CheckpointPtr direct = [&] {
                const TemporaryFolder directTarget;
                const CheckpointPtr out
                    = rewrite(source, {.worldSize = 3, .stage = stage}, directTarget.path());
                CHECK(fingerprintState(io::realFileSystem(), out, workers, job)->whole.text()
                    == after->whole.text());
                return out;
            }();
            CHECK(again->clientStateKeys == direct->clientStateKeys);
        }
    }
}

TEST_CASE("tensors in boxes of any kind are read by their elements")
{
    const std::string weight = bytesFrom(1, 4 * 6 * 4);
    const std::string moment = bytesFrom(2, 4 * 6 * 4);
    const std::string buffer = bytesFrom(3, 2 * 3 * 2 * 4);
    DcpFolder folder;
    folder.addBoxes("model.a.weight", {4, 6}, weight, {{{0, 0}, {4, 2}}, {{0, 2}, {1, 4}}, {{1, 2}, {3, 4}}});
    folder.addBoxes("optim.state.a.weight.exp_avg", {4, 6}, moment, {{{0, 3}, {4, 3}}, {{0, 0}, {4, 3}}});
    folder.addBoxes("model.b", {2, 3, 2}, buffer,
        {{{0, 0, 0}, {2, 3, 1}}, {{0, 0, 1}, {1, 3, 1}}, {{1, 0, 1}, {1, 3, 1}}});
    const CheckpointPtr found = openForPlan(folder.write());
    CHECK(found->complete);
    CHECK(found->findings.empty());
    CHECK(textOf(bytesOf(*found, "a.weight", "fp32")) == weight);
    CHECK(textOf(bytesOf(*found, "a.weight", "exp_avg")) == moment);
    CHECK(textOf(bytesOf(*found, "b", "weight")) == buffer);
    JobContext job;
    const auto plan
        = planExport(io::realFileSystem(), found, {.format = ExportFormat::Npy, .folderName = "out"}, job);
    REQUIRE(plan.has_value());
    CHECK(plainBytes(**plan, 0).ends_with(weight));
    // The same tensors whole: digests do not depend on how they are split.
    DcpFolder whole;
    whole.add("model.a.weight", {4, 6}, weight, 4);
    whole.add("optim.state.a.weight.exp_avg", {4, 6}, moment, 4);
    whole.add("model.b", {2, 3, 2}, buffer, 2);
    const CheckpointPtr same = openForPlan(whole.write());
    const Workers workers{};
    CHECK(fingerprintState(io::realFileSystem(), found, workers, job)->whole.text()
        == fingerprintState(io::realFileSystem(), same, workers, job)->whole.text());
    const auto report = verifyCheckpoint(io::realFileSystem(), found, {same}, workers, job);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
    CHECK(report->ok);
    // Every byte of every box leads to the element that it holds.
    const auto source = findState(*found, *found->findParam("a.weight"), "exp_avg");
    REQUIRE(source.has_value());
    forEachFragmentOf(*found, *source, 0, 24, [&](const Fragment& fragment) {
        const auto located
            = locate(*found, FileAddress{found->file(fragment.file).name, {}, fragment.byteOffset});
        REQUIRE_MESSAGE(located.has_value(), (located ? "" : describe(located.error())));
        return true;
    });
}

TEST_CASE("missing and truncated files and unknown splits are reported, and the rest is read")
{
    const std::string weight = bytesFrom(1, 4 * 2 * 4);
    {
        DcpFolder folder;
        folder.add("model.a", {4, 2}, weight, 2);
        folder.add("model.b", {4, 2}, weight, 4);
        const io::Path path = folder.write();
        std::filesystem::remove(path / "__1_0.distcp");
        const CheckpointPtr found = openForPlan(path);
        CHECK(!found->complete);
        CHECK(hasFinding(*found, code::kRankMissing));
        CHECK(textOf(bytesOf(*found, "b", "weight")) == weight);
    }
    {
        DcpFolder folder;
        folder.add("model.a", {4, 2}, weight, 4);
        folder.add("model.b", {4, 2}, weight, 4);
        folder.entries()[0].chunks[0].place.bytes -= 40; // the archive's end
        const CheckpointPtr found = openForPlan(folder.write());
        CHECK(!found->complete);
        CHECK(hasFinding(*found, code::kFileUnreadable));
    }
    {
        DcpFolder folder;
        folder.add("model.a", {4, 2}, weight, 2);
        folder.add("model.b", {4, 2}, weight, 4);
        for (size_t i = 0; i < 2; ++i) // as columns, and stored as rows
            folder.entries()[0].chunks[i] = {{0, i}, {4, 1}, folder.entries()[0].chunks[i].place};
        const CheckpointPtr found = openForPlan(folder.write());
        CHECK(!found->complete);
        CHECK(hasFinding(*found, code::kFileUnreadable));
        CHECK(textOf(bytesOf(*found, "b", "weight")) == weight);
    }
    {
        DcpFolder folder;
        folder.add("model.a", {4, 2}, weight, 4);
        folder.add("model.b", {4, 2}, weight, 4);
        folder.entries()[1].chunks[0].place.offset -= 8; // into the first one's archive
        folder.entries()[1].chunks[0].place.bytes += 8;
        const CheckpointPtr found = openForPlan(folder.write());
        CHECK(!found->complete);
        CHECK(hasFinding(*found, code::kFileUnreadable));
        JobContext job;
        CHECK_FALSE(verifyCheckpoint(io::realFileSystem(), found, {}, {}, job)->ok);
    }
    {
        DcpFolder folder;
        folder.add("optim.state.a.exp_avg", {4, 2}, weight, 2);
        JobContext job;
        const auto opened = openCheckpoint(io::realFileSystem(), folder.write(), {}, job);
        REQUIRE_FALSE(opened.has_value());
        CHECK(opened.error().code == ErrorCode::Unsupported);
        CHECK(opened.error().message.find("no weights") != std::string::npos);
    }
}

TEST_CASE("a digest of nothing is refused")
{
    auto unread = std::make_shared<Checkpoint>(*openForPlan(planSample("zero2-w2")));
    for (CheckpointFile& file : unread->files)
        file.role = FileRole::Other;
    JobContext job;
    const auto found = fingerprintState(io::realFileSystem(), unread, Workers{}, job);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code == ErrorCode::Unsupported);
}
