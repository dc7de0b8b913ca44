// SPDX-License-Identifier: Apache-2.0
// The form of torch before its zip files, on files that torch wrote and on damaged copies of them.
#include "core/torchfile/torch_file.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace shardscope;

namespace {

const std::filesystem::path kData = sourceFolder() + "/tests/data";

Result<std::shared_ptr<const TorchFile>> open(const io::Path& path, ReadMode mode = ReadMode::Strict)
{
    JobContext job;
    return TorchFile::open(io::realFileSystem(), path, mode, job);
}

/// Opens these bytes as a file.
class Bytes
{
public:
    Result<std::shared_ptr<const TorchFile>> open(
        const std::string& bytes, ReadMode mode = ReadMode::Strict) const
    {
        test::spill(m_folder / "file.pt", bytes);
        return ::open(m_folder / "file.pt", mode);
    }

private:
    test::TemporaryFolder m_folder{test::TemporaryFolder::Where::Memory};
};

std::string bytesOf(const TorchFile& file, const TensorView& tensor)
{
    const auto extent = file.extentOf(tensor);
    REQUIRE(extent);
    return test::slurp(file.path()).substr(extent->byteOffset, extent->bytes);
}

std::string with(std::string bytes, const std::string& from, const std::string& to)
{
    const size_t at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    return bytes.replace(at, from.size(), to);
}

bool hasFinding(const TorchFile& file, std::string_view code)
{
    return std::any_of(file.findings().begin(), file.findings().end(),
        [&](const Finding& finding) { return finding.code == code; });
}

const std::string kView = "Nt"; ///< "no view" and the end of a persistent id, as torch pickles it

} // namespace

TEST_CASE("tensors of a legacy file are those of the zip file that it was made from")
{
    for (const char* const name : {"views.pt", "dtypes.pt"}) {
        CAPTURE(std::string(name));
        const auto legacy = open(kData / "legacy" / name);
        REQUIRE_MESSAGE(legacy, describe(legacy.error()));
        const auto zip = open(kData / "torch" / name);
        REQUIRE(zip);
        CHECK((*legacy)->isLegacy());
        CHECK_FALSE((*zip)->isLegacy());
        const PickleGraph& here = (*legacy)->pickle();
        const PickleGraph& there = (*zip)->pickle();
        const auto items = mappingItems(there, there.root());
        REQUIRE(mappingItems(here, here.root()).size() == items.size());
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto key = asString(there, items[i]);
            REQUIRE(key);
            CAPTURE(std::string(*key));
            const auto theirs = asTensor(there, items[i + 1]);
            const auto ours = asTensor(here, lookup(here, here.root(), *key));
            REQUIRE(theirs);
            REQUIRE(ours);
            CHECK(ours->dtype == theirs->dtype);
            CHECK(ours->sizes == theirs->sizes);
            CHECK(ours->strides == theirs->strides);
            if (ours->isContiguous())
                CHECK(bytesOf(**legacy, *ours) == bytesOf(**zip, *theirs));
        }
        CHECK((*legacy)->storagesInOrder().size() == (*zip)->storagesInOrder().size());
        CHECK(hasFinding(**legacy, "record-unchecked"));
        CHECK((*legacy)->findings().size() == 1);
    }
}

TEST_CASE("records of a legacy file are its parts, without checksums")
{
    const auto opened = open(kData / "torch/legacy.pt");
    REQUIRE(opened);
    const ZipDirectory& parts = (*opened)->zip();
    REQUIRE(parts.records().size() == 2);
    CHECK(parts.prefix() == "legacy");
    CHECK(parts.records()[0].name == "data.pkl");
    const ZipRecord& storage = parts.records()[1];
    CHECK(storage.name.starts_with("data/"));
    CHECK_FALSE(storage.crcPresent);
    CHECK(storage.bytes == 16);
    const std::string bytes = test::slurp(kData / "torch/legacy.pt");
    CHECK(storage.payloadOffset == bytes.size() - 16);
    CHECK(parts.find(storage.name) == 1);
    const std::string pickle = bytes.substr(parts.records()[0].payloadOffset, parts.records()[0].bytes);
    CHECK(pickle.starts_with("\x80\x02}"));
    CHECK(pickle.back() == '.');
}

TEST_CASE("a legacy file truncated anywhere is refused, or shown with its losses")
{
    const Bytes place;
    for (const io::Path& path : {kData / "torch/legacy.pt", kData / "legacy/views.pt"}) {
        const std::string whole = test::slurp(path);
        for (size_t bytes = 15; bytes < whole.size(); ++bytes) {
            CAPTURE(bytes);
            const std::string cut = whole.substr(0, bytes);
            const auto strict = place.open(cut);
            REQUIRE_FALSE(strict);
            CHECK(strict.error().code == ErrorCode::Damaged);
            const auto tolerant = place.open(cut, ReadMode::Tolerant);
            if (!tolerant) {
                CHECK(tolerant.error().code == ErrorCode::Damaged);
                continue;
            }
            CHECK(hasFinding(**tolerant, "file-torn"));
            for (const ZipRecord& record : (*tolerant)->zip().records())
                CHECK((record.damaged || record.payloadOffset + record.bytes <= bytes));
        }
    }
}

TEST_CASE("a legacy file with any byte changed is never read outside its bounds")
{
    const Bytes place;
    const std::string whole = test::slurp(kData / "legacy/views.pt");
    const size_t payload = 48 * 4; // the end of the file is only values
    for (size_t at = 15; at + payload < whole.size(); ++at) {
        for (const int flip : {0x01, 0x80, 0xFF}) {
            CAPTURE(at);
            std::string changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ flip);
            const auto opened = place.open(changed, ReadMode::Tolerant);
            if (!opened) {
                CHECK(opened.error().code != ErrorCode::Internal);
                continue;
            }
            for (const ZipRecord& record : (*opened)->zip().records())
                CHECK((record.damaged || record.payloadOffset + record.bytes <= changed.size()));
            const PickleGraph& graph = (*opened)->pickle();
            const auto items = mappingItems(graph, graph.root());
            for (size_t i = 1; i < items.size(); i += 2) {
                if (const auto tensor = asTensor(graph, items[i]))
                    (void)(*opened)->extentOf(*tensor);
            }
        }
    }
}

TEST_CASE("ambiguous content of a legacy file is refused by name")
{
    const Bytes place;
    const std::string whole = test::slurp(kData / "torch/legacy.pt");
    const auto refused = [&](const std::string& bytes, ErrorCode code, const std::string& word) {
        for (const ReadMode mode : {ReadMode::Strict, ReadMode::Tolerant}) {
            const auto opened = place.open(bytes, mode);
            REQUIRE_FALSE(opened);
            CAPTURE(opened.error().message);
            CHECK(opened.error().code == code);
            CHECK(opened.error().message.find(word) != std::string::npos);
            CHECK(opened.error().path.ends_with("file.pt"));
        }
    };
    refused(with(whole, "M\xe9\x03.", "M\xea\x03."), ErrorCode::Unsupported, "protocol 1002");
    refused(
        with(whole, "X\x07" + std::string(3, '\0') + "storage", "X\x06" + std::string(3, '\0') + "module"),
        ErrorCode::Unsupported, "source code");
    refused(with(whole, kView, ")t"), ErrorCode::Unsupported, "parts of other storages");
    refused(with(whole, kView, "t"), ErrorCode::Damaged, "not a storage");
    // The list of storages names one that the object does not use.
    const size_t list = whole.rfind("94900578330976");
    std::string other = whole;
    other[list] = '1';
    refused(other, ErrorCode::Damaged, "list of storages");
    // … or one twice.
    refused(with(whole,
                "q\x01"
                "a.",
                "q\x01"
                "ah\x01"
                "a."),
        ErrorCode::Damaged, "list of storages");
}

TEST_CASE("wrong counts and trailing bytes are reported")
{
    const Bytes place;
    const std::string whole = test::slurp(kData / "torch/legacy.pt");
    std::string fewer = whole;
    fewer[whole.size() - 24] = 3; // of 4 elements
    const auto wrong = place.open(fewer, ReadMode::Tolerant);
    REQUIRE(wrong);
    CHECK(hasFinding(**wrong, "tensor-invalid"));
    CHECK_FALSE(place.open(fewer));

    std::string huge = whole;
    huge.replace(whole.size() - 24, 8, std::string(8, '\xff'));
    CHECK_FALSE(place.open(huge));
    const auto shown = place.open(huge, ReadMode::Tolerant);
    REQUIRE(shown);
    CHECK(hasFinding(**shown, "file-torn"));

    const auto longer = place.open(whole + "tail");
    REQUIRE(longer);
    CHECK(hasFinding(**longer, "trailing-data"));
}

TEST_CASE("the byte order of a legacy file is the one that it records")
{
    const Bytes place;
    const std::string whole = test::slurp(kData / "torch/legacy.pt");
    const std::string key = std::string("little_endianq\x02");
    CHECK_FALSE((*place.open(whole))->isBigEndian());
    CHECK((*place.open(with(whole, key + "\x88", key + "\x89")))->isBigEndian());
}
