// SPDX-License-Identifier: Apache-2.0
#include "core/objects/object_store.h"

#if defined(SHARDSCOPE_CURL) && !defined(SHARDSCOPE_STATIC_PROGRAM)
#include "core/objects/s3/s3_store.h"
#endif

namespace shardscope::objects {

#if defined(SHARDSCOPE_CURL) && !defined(SHARDSCOPE_STATIC_PROGRAM)

Result<std::shared_ptr<ObjectStore>> openObjectStore(
    io::FileSystem& files, const Environment& environment, std::stop_token stop)
{
    SHARDSCOPE_TRY(StoreSettings settings, storeSettings(files, environment));
    SHARDSCOPE_TRY(auto client, makeHttpClient({settings.certificates, std::move(stop)}));
    return std::make_shared<S3Store>(std::move(settings), std::move(client),
        [&files, environment] { return storeSettings(files, environment); });
}

#else

/// Without what links libraries: this file is all that differs.
Result<std::shared_ptr<ObjectStore>> openObjectStore(
    io::FileSystem& /*files*/, const Environment& /*environment*/, std::stop_token /*stop*/)
{
#ifdef SHARDSCOPE_STATIC_PROGRAM
    const char* why = "this is the static program, which cannot read object stores";
#else
    const char* why = "this program was built without libcurl, and cannot read object stores";
#endif
    return fail(ErrorCode::Unsupported, why, {},
        "the program of the Debian package can, and so can one that is built from source with libcurl");
}

#endif

} // namespace shardscope::objects
