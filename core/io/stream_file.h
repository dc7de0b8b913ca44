// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/io/file_system.h"

namespace shardscope::io {

/// An open descriptor that bytes are written to in order: a pipe, a socket, a file, a file in memory. Does
/// not own it. Used by one thread at a time.
class StreamFile
{
public:
    /// Usage if the descriptor is not open for writing.
    static Result<StreamFile> of(int descriptor);

    /// Of the file behind it.
    [[nodiscard]] const FileIdentity& identity() const { return m_identity; }
    [[nodiscard]] bool isTerminal() const;
    /// Writes all bytes; waits where the other end is slow, until the job is stopped. WriteFailed, NoSpace,
    /// Cancelled.
    Status write(std::span<const uint8_t> bytes, const JobContext& job);

private:
    StreamFile(int descriptor, const FileIdentity& identity)
        : m_descriptor(descriptor)
        , m_identity(identity)
    {
    }

    int m_descriptor;
    FileIdentity m_identity;
    bool m_mayBlock = false; ///< it has no writes that return at once, as files
};

} // namespace shardscope::io
