// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export_place.h"

#include "core/io/outage_watch.h"

namespace shardscope {

Result<ExportPlace> exportPlace(io::FileSystem& files, const io::Path& destination)
{
    io::Path path = destination.lexically_normal();
    if (!path.has_filename())
        path = path.parent_path();
    const io::OutageWatch watch; // a link that cannot be followed is not the folder itself
    const bool named = path.has_filename() && path.filename() != "." && path.filename() != "..";
    if (const auto real = files.canonical(path); real) {
        const auto folder
            = files.canonical(named && path.has_parent_path() ? path.parent_path() : io::Path("."));
        if (!named || !folder || *real != *folder / path.filename())
            path = *real;
    }
    SHARDSCOPE_CHECK(watch.status());
    if (!path.has_filename() || path.filename() == "." || path.filename() == "..")
        return fail(ErrorCode::Usage, "an export cannot use this path as its folder", destination.native(),
            "name a folder inside it");
    return ExportPlace{path.has_parent_path() ? path.parent_path() : io::Path("."), path.filename().string()};
}

Result<PlacedExport> planExportTo(io::FileSystem& files, const CheckpointPtr& source, ExportOptions options,
    const io::Path& destination, JobContext& job)
{
    SHARDSCOPE_TRY(ExportPlace place, exportPlace(files, destination));
    options.folderName = std::move(place.name);
    SHARDSCOPE_TRY(WritePlanPtr plan, planExport(files, source, options, job));
    return PlacedExport{std::move(plan), std::move(place.folder)};
}

} // namespace shardscope
