// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/torch_file.h"
#include "core/torchfile/zip/zip_layout.h"
#include "tests/support/places.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

using namespace shardscope;

namespace {

const std::filesystem::path kData = sourceFolder() + "/tests/data/torch";

Result<std::shared_ptr<const TorchFile>> open(const io::Path& path, ReadMode mode = ReadMode::Strict)
{
    JobContext job;
    return TorchFile::open(io::realFileSystem(), path, mode, job);
}

TensorView tensorNamed(const TorchFile& file, std::string_view name)
{
    const auto tensor = asTensor(file.pickle(), lookup(file.pickle(), file.pickle().root(), name));
    REQUIRE(tensor);
    return *tensor;
}

template <class T>
std::vector<T> valuesOf(const TorchFile& file, const TensorView& tensor)
{
    const auto extent = file.extentOf(tensor);
    REQUIRE(extent);
    REQUIRE(extent->bytes % sizeof(T) == 0);
    const std::string bytes = test::slurp(file.path());
    std::vector<T> values(extent->bytes / sizeof(T));
    if (!values.empty())
        std::memcpy(values.data(), bytes.data() + extent->byteOffset, extent->bytes);
    return values;
}

/// {"w": tensor of `numel` float32 in storage "0"} as torch.save pickles it, without memo.
std::string pickleOfOneTensor(uint8_t numel)
{
    const auto text = [](const std::string& value) {
        return std::string("X") + static_cast<char>(value.size()) + std::string(3, '\0') + value;
    };
    const std::string count{'K', static_cast<char>(numel)};
    return "\x80\x02}(" + text("w") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage")
        + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + count + "tQ" + std::string("K\0(", 3) + count
        + "t(K\x01t\x89" + "ccollections\nOrderedDict\n)RtRu.";
}

class Folder
{
public:
    io::Path write(const std::string& bytes)
    {
        const io::Path path = m_folder / (std::to_string(m_count++) + ".pt");
        test::spill(path, bytes);
        return path;
    }

private:
    test::TemporaryFolder m_folder;
    int m_count = 0;
};

test::NamedRecords sound()
{
    return {{"data.pkl", pickleOfOneTensor(4)}, {".format_version", "1"}, {".storage_alignment", "64"},
        {"byteorder", "little"}, {"data/0", std::string(16, 'x')}, {"version", "3\n"}};
}

test::NamedRecords with(const std::string& name, const std::string& payload)
{
    test::NamedRecords records = sound();
    for (auto& record : records)
        if (record.first == name)
            record.second = payload;
    return records;
}

test::NamedRecords without(const std::string& name)
{
    test::NamedRecords records = sound();
    std::erase_if(records, [&](const auto& record) { return record.first == name; });
    return records;
}

} // namespace

TEST_CASE("the recorded positions of a real file's tensors hold their values")
{
    const auto opened = open(kData / "views.pt");
    REQUIRE(opened);
    const TorchFile& file = **opened;
    CHECK(file.findings().empty());
    CHECK_FALSE(file.isBigEndian());
    CHECK(file.identity().bytes == std::filesystem::file_size(kData / "views.pt"));

    const auto base = valuesOf<float>(file, tensorNamed(file, "base"));
    REQUIRE(base.size() == 48);
    for (size_t i = 0; i < base.size(); ++i)
        CHECK(base[i] == static_cast<float>(i));
    const auto window = valuesOf<float>(file, tensorNamed(file, "window"));
    REQUIRE(window.size() == 10);
    CHECK(window.front() == 10.0f);
    CHECK(window.back() == 19.0f);
    CHECK(valuesOf<float>(file, tensorNamed(file, "parameter")).front() == 24.0f);

    const auto shared = file.extentOf(tensorNamed(file, "window"));
    const auto tied = file.extentOf(tensorNamed(file, "tied"));
    CHECK(shared->byteOffset == tied->byteOffset);
    CHECK(shared->record == file.extentOf(tensorNamed(file, "base"))->record);
    CHECK(shared->recordOffset == 40);
    const TensorView transposed = tensorNamed(file, "transposed");
    CHECK_FALSE(transposed.isContiguous());
    CHECK(file.extentOf(transposed)->recordOffset == 0);
    const TensorView column = tensorNamed(file, "column");
    CHECK(file.extentOf(column)->recordOffset == 4);

    const auto storages = file.storagesInOrder();
    REQUIRE(storages.size() == 3);
    for (size_t i = 0; i < storages.size(); ++i)
        CHECK(storages[i].key == std::to_string(i));
    CHECK(storages[0].elements == 48);
    CHECK(storages[1].elements == 1);
    CHECK(storages[2].elements == 6);
}

TEST_CASE("every dtype that torch saves has the right size")
{
    const auto opened = open(kData / "dtypes.pt");
    REQUIRE(opened);
    const TorchFile& file = **opened;
    const auto items = mappingItems(file.pickle(), file.pickle().root());
    REQUIRE(items.size() == 2 * 17);
    CHECK(file.storagesInOrder().size() == 17);
    const std::string bytes = test::slurp(kData / "dtypes.pt");
    for (size_t i = 0; i < items.size(); i += 2) {
        const auto name = asString(file.pickle(), items[i]);
        const auto tensor = asTensor(file.pickle(), items[i + 1]);
        REQUIRE(tensor);
        CAPTURE(std::string(*name));
        CHECK(dtypeName(tensor->dtype) == *name);
        const auto extent = file.extentOf(*tensor);
        REQUIRE(extent);
        const uint64_t count = *name == "bool" ? 3 : 7;
        CHECK(extent->bytes == count * itemSize(tensor->dtype));
        const auto* at = reinterpret_cast<const uint8_t*>(bytes.data()) + extent->byteOffset;
        if (*name != "bool")
            for (uint64_t k = 0; k < count; ++k)
                CHECK(elementAsDouble(tensor->dtype, at + k * itemSize(tensor->dtype))
                    == static_cast<double>(k));
    }
}

TEST_CASE("empty and 0-dim tensors, and files saved to an open file")
{
    const auto tiny = open(kData / "tiny.pt");
    REQUIRE(tiny);
    CHECK((*tiny)->extentOf(tensorNamed(**tiny, "empty"))->bytes == 0);
    CHECK((*tiny)->extentOf(tensorNamed(**tiny, "also_empty"))->bytes == 0);
    CHECK(valuesOf<float>(**tiny, tensorNamed(**tiny, "zero_dim")) == std::vector<float>{2.5f});
    CHECK(valuesOf<int64_t>(**tiny, tensorNamed(**tiny, "one")) == std::vector<int64_t>{7});
    const auto object = open(kData / "file_object.pt");
    REQUIRE(object);
    CHECK((*object)->zip().prefix() == "archive");
    CHECK(sequenceItems((*object)->pickle(), (*object)->pickle().root()).size() == 2);
    CHECK(open(kData / "many.pt").value()->storagesInOrder().size() == 40);
    CHECK(open(kData / "aligned_256.pt").value()->findings().empty());
    CHECK(open(kData / "no_crc.pt").value()->findings().size() == 1);
}

TEST_CASE("files that DeepSpeed wrote open without a finding and are rebuilt byte for byte")
{
    size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kData.parent_path() / "samples")) {
        if (entry.path().extension() != ".pt")
            continue;
        CAPTURE(entry.path().string());
        const auto opened = open(entry.path());
        REQUIRE(opened);
        const ZipDirectory& zip = (*opened)->zip();
        CHECK(zip.isTorchProfile());
        CHECK(zip.findings().empty());
        CHECK(std::none_of((*opened)->findings().begin(), (*opened)->findings().end(),
            [](const Finding& finding) { return finding.severity == Severity::Error; }));
        const std::string bytes = test::slurp(entry.path());
        std::vector<ZipRecordSpec> specs;
        std::vector<uint32_t> crcs;
        for (const ZipRecord& record : zip.records()) {
            specs.push_back({record.name, record.bytes});
            crcs.push_back(record.crc32);
        }
        const auto layout = ZipLayout::make(zip.prefix(), specs, zip.alignment());
        REQUIRE(layout);
        std::string rebuilt;
        for (uint32_t i = 0; i < specs.size(); ++i)
            rebuilt += layout->localHeader(i) + bytes.substr(zip.records()[i].payloadOffset, specs[i].bytes)
                + layout->dataDescriptor(i, crcs[i]);
        rebuilt += layout->directory(crcs);
        CHECK(rebuilt == bytes);
        ++count;
    }
    CHECK(count > 0);
}

TEST_CASE("files of other kinds are named")
{
    Folder folder;
    using namespace std::string_literals;
    const auto refused = [&](const std::string& bytes, ErrorCode code, const std::string& word) {
        for (const ReadMode mode : {ReadMode::Strict, ReadMode::Tolerant}) {
            const io::Path path = folder.write(bytes);
            const auto file = open(path, mode);
            REQUIRE_FALSE(file);
            CAPTURE(file.error().message);
            CHECK(file.error().code == code);
            CHECK(file.error().message.find(word) != std::string::npos);
            CHECK(file.error().path == path.string());
        }
    };
    refused(test::slurp(kData / "torchscript.pt"), ErrorCode::Unsupported, "TorchScript");
    refused("", ErrorCode::Damaged, "empty");
    refused("PK\x03", ErrorCode::Damaged, "3 bytes");
    refused("7z\xbc\xaf\x27\x1c...", ErrorCode::NotACheckpoint, "7z");
    refused("\x1f\x8b\x08\x00"s, ErrorCode::NotACheckpoint, "gzip");
    refused("\x28\xb5\x2f\xfd\x04\x00"s, ErrorCode::NotACheckpoint, "zstd");
    refused("\xfd"
            "7zXZ\0\0"s,
        ErrorCode::NotACheckpoint, "xz");
    refused("BZh91AY&SY", ErrorCode::NotACheckpoint, "bzip2");
    refused("Rar!\x1a\x07\x01", ErrorCode::NotACheckpoint, "RAR");
    refused("\x80\x04\x95\x00\x00"s, ErrorCode::Unsupported, "bare pickle");
    refused("PYTORCH1....", ErrorCode::Unsupported, "preview");
    refused("\x93NUMPY\x01", ErrorCode::NotACheckpoint, "numpy");
    refused("\x7f"
            "ELF\x02",
        ErrorCode::NotACheckpoint, "program");
    refused("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", ErrorCode::NotACheckpoint,
        "Git LFS");
    refused("\n <!DOCTYPE html><html>404", ErrorCode::NotACheckpoint, "web page");
    refused("hello, I am n\xc3\xb6 file", ErrorCode::NotACheckpoint, "plain text");
    refused(std::string(700, '\0'), ErrorCode::Damaged, "zeros");
    refused("\x02\0\0\0\0\0\0\0{}"s, ErrorCode::Unsupported, "safetensors");
    refused(std::string(257, 'a') + "ustar" + std::string(300, '\0'), ErrorCode::Unsupported, "tar");
    refused("\xff\xfe\x01\x02\x03garbage", ErrorCode::NotACheckpoint, "no known format");
    refused("\xff\xfe\x01\x02" + test::slurp(kData / "tiny.pt"), ErrorCode::NotACheckpoint, "before it");
    refused("PK\x03\x04", ErrorCode::Damaged, "too short");
    refused(test::buildTorchArchive({{"x", "y"}}), ErrorCode::Damaged, "data.pkl");

    CHECK(open(folder.write("x").parent_path()).error().code == ErrorCode::Unreadable);
    CHECK(open("/nonexistent/file.pt").error().code == ErrorCode::NotFound);
}

TEST_CASE("Z34 Z35 Z36 Z37 Z38: records that are missing, odd or too many")
{
    Folder folder;
    const auto archive
        = [&](const test::NamedRecords& records) { return folder.write(test::buildTorchArchive(records)); };
    REQUIRE(open(archive(sound())));
    CHECK(open(archive(sound())).value()->findings().empty());
    const auto doubtful = [&](const test::NamedRecords& records, std::string_view code) {
        CHECK(open(archive(records)).error().code == ErrorCode::Damaged);
        const auto file = open(archive(records), ReadMode::Tolerant);
        REQUIRE(file);
        REQUIRE((*file)->findings().size() == 1);
        CHECK((*file)->findings()[0].code == code);
        CHECK((*file)->findings()[0].severity == Severity::Error);
        return *file;
    };
    const auto warned = [&](const test::NamedRecords& records, std::string_view code) {
        const auto file = open(archive(records));
        REQUIRE(file);
        REQUIRE((*file)->findings().size() == 1);
        CHECK((*file)->findings()[0].code == code);
        CHECK((*file)->findings()[0].severity == Severity::Warning);
    };
    const io::Path packed = folder.write(test::buildForeignArchive(
        {{.name = "a/data.pkl", .payload = "\x03", .method = 8, .inflatedBytes = 0}}));
    CHECK(open(packed).error().code == ErrorCode::Unsupported);
    doubtful(without("version"), "record-missing");
    for (const char* version : {"0", "11", "99", "abc", "", "3x", "-3"})
        doubtful(with("version", version), "record-corrupt");
    doubtful(with("version", std::string(1 << 20, '1')), "record-corrupt");
    const auto missing = doubtful(without("data/0"), "record-missing");
    CHECK(missing->extentOf(tensorNamed(*missing, "w")).error().code == ErrorCode::Damaged);
    const auto shorter = doubtful(with("data/0", std::string(12, 'x')), "tensor-invalid");
    CHECK(shorter->extentOf(tensorNamed(*shorter, "w")).error().code == ErrorCode::Damaged);
    const auto longer = doubtful(with("data/0", std::string(20, 'x')), "tensor-invalid");
    CHECK(longer->extentOf(tensorNamed(*longer, "w")).error().code == ErrorCode::Damaged);

    for (const ReadMode mode : {ReadMode::Strict, ReadMode::Tolerant})
        CHECK(open(archive(with("byteorder", "middle")), mode).error().code == ErrorCode::Damaged);
    CHECK(open(archive(with("byteorder", "big"))).value()->isBigEndian());
    CHECK_FALSE(open(archive(without("byteorder"))).value()->isBigEndian());
    CHECK(open(archive(without(".format_version"))).value()->findings().empty());
    for (const char* alignment : {"0", "-1", "1000000000", "60", "x"})
        warned(with(".storage_alignment", alignment), "record-corrupt");
    warned(with(".format_version", "garbage"), "record-corrupt");
    test::NamedRecords more = sound();
    more.emplace_back("data/7", "1234");
    more.emplace_back("extra.py", "import os");
    warned(more, "record-unused");
    more.emplace_back("constants.pkl", "");
    CHECK(open(archive(more)).error().code == ErrorCode::Unsupported);
}

TEST_CASE("Z28 Z30: wrong checksums")
{
    Folder folder;
    std::string bytes = test::buildTorchArchive(sound());
    const size_t payload = bytes.find(std::string(16, 'x'));
    bytes[payload] = 'y';
    // A tensor's payload is not read when a file is opened; reading it later returns the error.
    const auto opened = open(folder.write(bytes));
    REQUIRE(opened);
    const auto file = io::realFileSystem().openRead((*opened)->path());
    const auto extent = (*opened)->extentOf(tensorNamed(**opened, "w"));
    REQUIRE(extent);
    CHECK(extent->byteOffset == payload);
    CHECK_FALSE(readRecord(**file, (*opened)->zip().records()[extent->record], 1000));

    bytes = test::buildTorchArchive(sound());
    bytes[bytes.find("Xw") == std::string::npos ? bytes.find("cpu") : bytes.find("Xw")] ^= 1;
    CHECK(open(folder.write(bytes)).error().code == ErrorCode::Damaged);
    const auto shown = open(folder.write(bytes), ReadMode::Tolerant);
    REQUIRE(shown);
    REQUIRE((*shown)->findings().size() == 1);
    CHECK((*shown)->findings()[0].code == "record-corrupt");
}

TEST_CASE("a damaged pickle is refused with the file's name")
{
    Folder folder;
    for (const std::string& pickle : {std::string(), std::string("\x80\x02"), std::string("\x80\x02\xff.")}) {
        const io::Path path = folder.write(test::buildTorchArchive(with("data.pkl", pickle)));
        const auto file = open(path, ReadMode::Tolerant);
        REQUIRE_FALSE(file);
        CHECK(file.error().path == path.string());
        CHECK(file.error().code == ErrorCode::Damaged);
    }
}

TEST_CASE("a truncated file opens as far as possible")
{
    Folder folder;
    const std::string bytes = test::slurp(kData / "views.pt");
    size_t openedFiles = 0;
    for (size_t length = 0; length < bytes.size(); length += 7) {
        const io::Path path = folder.write(bytes.substr(0, length));
        CHECK_FALSE(open(path));
        const auto file = open(path, ReadMode::Tolerant);
        std::filesystem::remove(path);
        if (!file)
            continue;
        ++openedFiles;
        CHECK((*file)->findings().front().code == "file-torn");
        for (const char* name : {"base", "parameter"}) {
            const auto extent = (*file)->extentOf(tensorNamed(**file, name));
            if (extent)
                CHECK(extent->byteOffset + extent->bytes <= length);
        }
    }
    CHECK(openedFiles > 50);
}
