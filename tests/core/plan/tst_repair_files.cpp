// SPDX-License-Identifier: Apache-2.0
// Oddities of files whose content is whole: found on what stock DeepSpeed wrote, and gone from the copy.
#include "core/torchfile/torch_file.h"
#include "tests/core/plan/repair_fixture.h"
#include "tests/support/torch_archive_builder.h"

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kShard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

struct Records {
    std::string prefix;
    NamedRecords named;
    std::vector<uint32_t> sums;
};

Records recordsOf(const fs::path& path)
{
    JobContext job;
    const auto file = io::realFileSystem().openRead(path);
    REQUIRE(file);
    const auto zip = ZipDirectory::read(**file, ReadMode::Strict, job);
    REQUIRE(zip);
    Records out{zip->prefix(), {}, {}};
    for (const ZipRecord& record : zip->records()) {
        out.named.emplace_back(record.name, readRecord(**file, record, record.bytes).value());
        out.sums.push_back(record.crc32);
    }
    return out;
}

/// As another program than torch packs the same records; without sums where `sums` is false.
std::string packedByOthers(const Records& records, bool sums)
{
    std::vector<ForeignRecord> out;
    for (size_t i = 0; i < records.named.size(); ++i) {
        ForeignRecord record;
        record.name = records.prefix + "/" + records.named[i].first;
        record.payload = records.named[i].second;
        record.crcXor = sums ? 0 : records.sums[i];
        out.push_back(std::move(record));
    }
    return buildForeignArchive(out);
}

/// A fix without loss: found, then not, in a copy of the same state in which nothing is marked.
void checkMends(const Patchable& hurt, const char* code, Severity severity)
{
    CAPTURE(code);
    const CheckResult before = hurt.check();
    const DoctorFinding* found = findingOf(before, code);
    REQUIRE(found != nullptr);
    CHECK(found->finding.severity == severity);
    CHECK(found->command.find("--fix " + std::string(code)) != std::string::npos);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const Mended mended = mend(hurt, {.fixes = {code}}, folder / "mended");
    CHECK(mended.plan->marks().empty());
    checkSameState(mended.copy, openForPlan(planSample("zero2-w2")));
    JobContext job;
    const auto after = examine(io::realFileSystem(), folder / "mended", {}, job);
    REQUIRE(after);
    CHECK(findingOf(*after, code) == nullptr);
    CHECK(troubles(*after).empty());
}

} // namespace

TEST_CASE("payloads that another program packed are aligned again")
{
    const Patchable hurt("zero2-w2");
    spill(hurt.tag() / kShard, packedByOthers(recordsOf(hurt.tag() / kShard), true));
    checkMends(hurt, "unaligned-payload", Severity::Warning);
}

TEST_CASE("records that nothing names stay behind")
{
    const Patchable hurt("zero2-w2");
    Records records = recordsOf(hurt.tag() / kShard);
    records.named.emplace_back("data/999", std::string(1000, 'u'));
    spill(hurt.tag() / kShard, buildTorchArchive(records.named, records.prefix));
    checkMends(hurt, "record-unused", Severity::Warning);
}

TEST_CASE("records that were saved without checksums get some")
{
    const Patchable hurt("zero2-w2");
    spill(hurt.tag() / kShard, packedByOthers(recordsOf(hurt.tag() / kShard), false));
    checkMends(hurt, "record-unchecked", Severity::Info);
}
