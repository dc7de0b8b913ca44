// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/compose/archive_composer.h"
#include "core/plan/compose/literal_archive.h"
#include "core/plan/export/export.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/torch_archive_builder.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <map>

namespace shardscope::test {

inline std::string archiveOf(const Shape& shape, const std::string& elements)
{
    ArchiveComposer composer;
    const NodeId root = composer.smallTensor(DType::Float32, shape, elements);
    auto archive = composer.finish(root, "archive", recordsOfToday());
    REQUIRE(archive.has_value());
    return *literalArchiveBytes(*archive);
}

/// A folder with tensors in pieces, as several ranks save them.
class DcpFolder
{
public:
    /// `elements` bytes of a float32 tensor of this shape, in runs of `rows` rows, on one rank after another.
    void add(const std::string& key, const Shape& shape, const std::string& elements, uint64_t rows,
        const std::vector<DcpStep>& path = {})
    {
        DcpEntry entry;
        entry.key = key;
        entry.path = path;
        entry.isTensor = true;
        entry.dtype = DType::Float32;
        entry.shape = shape;
        uint64_t at = 0;
        const size_t rowBytes = shape.empty() ? elements.size() : elements.size() / shape[0];
        for (size_t rank = 0; shape.empty() ? rank == 0 : at < shape[0]; ++rank) {
            DcpChunk chunk{Shape(shape.size(), 0), shape, {}};
            uint64_t count = 1;
            if (!shape.empty()) {
                count = std::min(rows, shape[0] - at);
                chunk.offsets[0] = at;
                chunk.sizes[0] = count;
            }
            chunk.place = put(rank, archiveOf(chunk.sizes, elements.substr(at * rowBytes, count * rowBytes)));
            entry.chunks.push_back(std::move(chunk));
            at += count;
        }
        m_entries.push_back(std::move(entry));
    }
    /// The same in boxes, each on another rank.
    void addBoxes(const std::string& key, const Shape& shape, const std::string& elements,
        const std::vector<Box>& boxes)
    {
        DcpEntry entry{key, {}, true, DType::Float32, shape, {}, {}};
        for (size_t rank = 0; rank < boxes.size(); ++rank) {
            std::string held;
            forEachRunOfBox(shape, boxes[rank],
                [&](const BoxRun& run) { held += elements.substr(run.element * 4, run.elements * 4); });
            entry.chunks.push_back(
                {boxes[rank].offsets, boxes[rank].sizes, put(rank, archiveOf(boxes[rank].sizes, held))});
        }
        m_entries.push_back(std::move(entry));
    }
    /// A tensor whose elements are stored with these strides.
    void addStrided(const std::string& key, const Shape& shape, const std::vector<uint64_t>& strides,
        const std::string& storage)
    {
        PickleBuilder builder;
        const auto counts = [&](const std::vector<uint64_t>& values) {
            std::vector<NodeId> out;
            for (const uint64_t value : values)
                out.push_back(builder.integer(static_cast<int64_t>(value)));
            return builder.tuple(out);
        };
        const std::array id{builder.string("storage"), builder.global("torch", "FloatStorage"),
            builder.string("0"), builder.string("cpu"),
            builder.integer(static_cast<int64_t>(storage.size() / 4))};
        const std::array arguments{builder.persistentId(builder.tuple(id)), builder.integer(0), counts(shape),
            counts(strides), builder.boolean(false),
            builder.reduce(builder.global("collections", "OrderedDict"), builder.tuple({}))};
        const NodeId root
            = builder.reduce(builder.global("torch._utils", "_rebuild_tensor_v2"), builder.tuple(arguments));
        DcpEntry entry{key, {}, true, DType::Float32, shape, {}, {}};
        entry.chunks.push_back({Shape(shape.size(), 0), shape,
            put(0, buildTorchArchive(*emitPickle(builder.finish(root)), {storage}))});
        m_entries.push_back(std::move(entry));
    }
    /// An object, as torch.save writes it.
    void addObject(const std::string& key, const std::vector<DcpStep>& path,
        const std::function<NodeId(PickleBuilder&)>& make)
    {
        ArchiveComposer composer;
        const NodeId root = make(composer.builder());
        auto archive = composer.finish(root, "archive", recordsOfToday());
        REQUIRE(archive.has_value());
        m_entries.push_back(
            {key, path, false, DType::Unknown, {}, {}, put(0, *literalArchiveBytes(*archive))});
    }
    std::vector<DcpEntry>& entries() { return m_entries; }
    io::Path write()
    {
        for (const auto& [name, bytes] : m_files)
            spill(m_folder / name, bytes);
        spill(m_folder / ".metadata", *dcpMetadataBytes(m_entries));
        return m_folder.path();
    }

private:
    DcpPlace put(size_t rank, const std::string& bytes)
    {
        std::string& file = m_files["__" + std::to_string(rank) + "_0.distcp"];
        DcpPlace out{"__" + std::to_string(rank) + "_0.distcp", file.size(), bytes.size()};
        file += bytes;
        return out;
    }

    TemporaryFolder m_folder;
    std::map<std::string, std::string> m_files;
    std::vector<DcpEntry> m_entries;
};

inline std::string bytesFrom(int first, size_t count)
{
    std::string out;
    for (size_t i = 0; i < count; ++i)
        out += static_cast<char>(first + static_cast<int>(i) * 7);
    return out;
}

/// Converts a checkpoint into FOLDER/out, and opens that.
inline CheckpointPtr converted(const CheckpointPtr& source, const io::Path& folder)
{
    JobContext job;
    const auto plan
        = planExport(io::realFileSystem(), source, {.format = ExportFormat::Dcp, .folderName = "out"}, job);
    REQUIRE_MESSAGE(plan.has_value(), (plan ? "" : describe(plan.error())));
    plainWrite(**plan, folder);
    return openForPlan(folder / "out");
}

} // namespace shardscope::test
