// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/torchfile: one file of torch.save, opened: its records, its pickle, and where its tensors are;
// what a file means for a checkpoint is decided in core/checkpoint. Start with TorchFile.

#include "core/torchfile/pickle/pickle_machine.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/shared_files.h"
#include "core/torchfile/zip/zip_directory.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Where a tensor's elements are in a file. Offsets are bytes from the start of the file.
struct TensorExtent {
    uint32_t record = 0; ///< index into zip().records()
    uint64_t byteOffset = 0; ///< first element, from the start of the file
    uint64_t recordOffset = 0; ///< the same from the start of the record's payload
    uint64_t bytes = 0; ///< of the elements, when contiguous
};

/// One `.pt` file: its records, its pickle as a graph, its tensors. Payloads are never loaded here.
///
/// Immutable, thread-safe. The zip form and, presented like it, the legacy form (legacy_file.h); TorchScript,
/// tar and foreign files are refused by name (Unsupported or NotACheckpoint).
class TorchFile
{
public:
    /// `shared` (optional): of files opened before; `reduce`: what to keep of this one's pickle.
    static Result<std::shared_ptr<const TorchFile>> open(io::FileSystem& files, const io::Path& path,
        ReadMode mode, JobContext& job, SharedFiles* shared = nullptr,
        SharedPickles::Reduce reduce = nullptr);

    /// The same for a file that is open already.
    static Result<std::shared_ptr<const TorchFile>> open(const io::ReadFile& file, ReadMode mode,
        JobContext& job, SharedFiles* shared = nullptr, SharedPickles::Reduce reduce = nullptr);

    /// A file inside another, as in distributed checkpoints: `bytes` from `offset` of it. Offsets are from
    /// the start of the part. Damaged where the part ends beyond the file.
    static Result<std::shared_ptr<const TorchFile>> openPart(io::FileSystem& files, const io::Path& path,
        uint64_t offset, uint64_t bytes, ReadMode mode, JobContext& job);

    /// The same file with another pickle that names the same storages.
    static std::shared_ptr<const TorchFile> withPickle(const TorchFile& file, PickleGraph pickle);

    /// The content of several archives, presented as one archive in memory (distributed checkpoints): a
    /// pickle, and the bytes of the storages that it names, by key. `path` and `identity` are those of the
    /// file that leads to the archives. It has no records, so that extentOf() finds nothing.
    using HeldStorages = std::map<std::string, std::string, std::less<>>;
    static std::shared_ptr<const TorchFile> made(
        io::Path path, io::FileIdentity identity, PickleGraph pickle, HeldStorages storages);
    [[nodiscard]] bool isMade() const { return m_held != nullptr; }
    /// Of a file in memory: the bytes of a storage; null where there is none with that key.
    [[nodiscard]] const std::string* heldStorage(std::string_view key) const;

    /// Bytes of a record that an opened file may keep: steps and scales are no larger.
    static constexpr uint64_t kSmallRecord = 16;
    /// The content of a small record, by index, if it was at hand when the file was opened; else empty. Its
    /// checksum was not compared.
    [[nodiscard]] std::span<const uint8_t> smallRecord(uint32_t record) const;

    [[nodiscard]] const io::Path& path() const { return m_path; }
    [[nodiscard]] const io::FileIdentity& identity() const { return m_identity; }
    [[nodiscard]] const ZipDirectory& zip() const { return *m_zip; }
    [[nodiscard]] const PickleGraph& pickle() const { return *m_pickle; }
    /// Of the archive, its version and byteorder records, and the pickle.
    [[nodiscard]] const std::vector<Finding>& findings() const { return m_findings; }
    [[nodiscard]] bool isBigEndian() const { return m_bigEndian; }
    /// Whether it is a stack of pickles and no zip file: its records are parts of that.
    [[nodiscard]] bool isLegacy() const { return m_legacy; }

    /// The extent of a tensor; Damaged when its record is absent, damaged, deflated or of another size than
    /// the pickle says (T01). Contiguity is the caller's business: `bytes` is elements × item size.
    [[nodiscard]] Result<TensorExtent> extentOf(const TensorView& tensor) const;
    /// All storages of the pickle in the order the unpickler reads them, as (record index, storage).
    [[nodiscard]] std::vector<StorageView> storagesInOrder() const;

private:
    Status readLegacy(const io::ReadFile& file, ReadMode mode, JobContext& job, SharedPickles::Reduce reduce);
    void keepSmallRecords(const io::ReadFile& file);

    io::Path m_path;
    io::FileIdentity m_identity;
    std::shared_ptr<const ZipDirectory> m_zip; ///< set once opened
    std::shared_ptr<const PickleGraph> m_pickle;
    std::vector<Finding> m_findings;
    bool m_bigEndian = false;
    bool m_legacy = false;
    std::map<uint32_t, std::vector<uint8_t>> m_small; ///< contents of small records, by index
    std::shared_ptr<const HeldStorages> m_held; ///< set where the file was made
};

} // namespace shardscope
