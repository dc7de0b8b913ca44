// SPDX-License-Identifier: Apache-2.0
// What the answer of `verify` says was checked.
#include "core/report/answers/verify_report.h"

#include <doctest/doctest.h>

using namespace shardscope;

TEST_CASE("verify claims only the checks that ran")
{
    VerifyReport report; // of an export that was interrupted while it was published
    CHECK(checkedText(report).empty());
    CHECK(noManifestText(report).find("no manifest") != std::string::npos);

    report.crc = true;
    CHECK(checkedText(report) == "the CRC of every record and the structure of every file");
    report.lacksCrc = true;
    CHECK(checkedText(report) == "the CRC of every record that has one and the structure of every file");

    for (const ManifestUse use : {ManifestUse::Unreadable, ManifestUse::Damaged}) {
        report.manifest = use;
        CHECK(checkedText(report).find("manifest") == std::string::npos);
        CHECK(!noManifestText(report).empty());
        CHECK(noManifestText(report).find("no manifest") == std::string::npos);
    }

    report.manifest = ManifestUse::Compared;
    report.digest = io::DigestKind::Sha256;
    report.lacksCrc = false;
    CHECK(checkedText(report) == "SHA-256 of every file against the manifest, the CRC of every record");
    report.crc = false; // of exported weights
    report.digest = io::DigestKind::Xxh3;
    CHECK(checkedText(report) == "XXH3-128 of every file against the manifest");
    CHECK(noManifestText(report).empty());
}
