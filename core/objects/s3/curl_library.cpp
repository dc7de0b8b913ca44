// SPDX-License-Identifier: Apache-2.0
#include "core/objects/s3/curl_library.h"

#include <dlfcn.h>

namespace shardscope::objects {

namespace {

constexpr const char* kLibrary = "libcurl.so.4"; // the name of its interface since 2006

template <class Function>
bool find(void* library, const char* name, Function& out)
{
    out = reinterpret_cast<Function>(::dlsym(library, name));
    return out != nullptr;
}

Result<CurlLibrary> load()
{
    // Never closed: what it has started may still run.
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = ::dlerror();
        return fail(ErrorCode::Unsupported,
            std::string("object stores need libcurl, which cannot be loaded: ") + (why != nullptr ? why : ""),
            {}, "install it, as by `apt-get install libcurl4`");
    }
    CurlLibrary out;
    const bool hasAll = find(library, "curl_global_init", out.globalInit)
        && find(library, "curl_easy_init", out.easyInit)
        && find(library, "curl_easy_cleanup", out.easyCleanup)
        && find(library, "curl_easy_reset", out.easyReset) && find(library, "curl_easy_setopt", out.setOption)
        && find(library, "curl_easy_getinfo", out.getInfo)
        && find(library, "curl_easy_strerror", out.errorText)
        && find(library, "curl_multi_init", out.multiInit)
        && find(library, "curl_multi_cleanup", out.multiCleanup)
        && find(library, "curl_multi_add_handle", out.multiAdd)
        && find(library, "curl_multi_remove_handle", out.multiRemove)
        && find(library, "curl_multi_perform", out.multiPerform)
        && find(library, "curl_multi_poll", out.multiPoll)
        && find(library, "curl_multi_info_read", out.multiRead)
        && find(library, "curl_slist_append", out.listAppend)
        && find(library, "curl_slist_free_all", out.listFree);
    if (!hasAll || out.globalInit(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return fail(
            ErrorCode::Unsupported, "object stores need libcurl 7.66 or later", {}, "install a newer one");
    return out;
}

} // namespace

Result<const CurlLibrary*> curlLibrary()
{
    static const Result<CurlLibrary> kLoaded = load();
    if (!kLoaded)
        return forward(kLoaded.error());
    return &*kLoaded;
}

} // namespace shardscope::objects
