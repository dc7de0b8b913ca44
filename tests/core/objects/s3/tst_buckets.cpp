// SPDX-License-Identifier: Apache-2.0
// The buckets of a store, by a client that gives one answer.
#include "core/objects/s3/s3_store.h"

#include <doctest/doctest.h>

namespace shardscope {

using namespace objects;

namespace {

class OneAnswer final : public HttpClient
{
public:
    OneAnswer(HttpAnswer answer, std::vector<std::string>& urls)
        : m_answer(std::move(answer))
        , m_urls(urls)
    {
    }
    std::vector<HttpAnswer> ask(std::span<const HttpRequest> requests) override
    {
        for (const HttpRequest& request : requests)
            m_urls.push_back(request.url);
        return std::vector<HttpAnswer>(requests.size(), m_answer);
    }
    [[nodiscard]] StoreTraffic traffic() const override { return {}; }

private:
    HttpAnswer m_answer;
    std::vector<std::string>& m_urls;
};

struct Listed {
    Result<ObjectFolder> folder;
    std::string url;
};

Listed listed(HttpAnswer answer, bool hasKeys = true, const std::string& endpoint = {})
{
    std::vector<std::string> urls;
    StoreSettings settings;
    settings.endpoint = endpoint;
    settings.region = "eu-south-2";
    if (hasKeys)
        settings.keys = StoreKeys{"AKTEST", "geheim", {}};
    S3Store store(settings, std::make_unique<OneAnswer>(std::move(answer), urls));
    auto folder = store.list({});
    REQUIRE(urls.size() == 1);
    return {std::move(folder), urls.front()};
}

std::string answerWith(const std::string& buckets)
{
    return "<?xml version=\"1.0\"?>\n<ListAllMyBucketsResult "
           "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
           "<Owner><ID>1</ID></Owner><Buckets>"
        + buckets + "</Buckets></ListAllMyBucketsResult>";
}

std::string bucket(const std::string& name)
{
    return "<Bucket><Name>" + name + "</Name><CreationDate>2026-11-30T13:32:20.000Z</CreationDate></Bucket>";
}

HttpAnswer answered(int status, const std::string& body = {})
{
    HttpAnswer out;
    out.status = status;
    out.body = body;
    return out;
}

HttpAnswer refusal(int status, const std::string& code)
{
    return answered(status, "<Error><Code>" + code + "</Code></Error>");
}

} // namespace

TEST_CASE("the folders of a store are its buckets")
{
    const std::string some = answerWith(bucket("runs") + bucket("b.c_D-9") + bucket("runs"));
    const Listed found = listed(answered(200, some));
    REQUIRE(found.folder);
    CHECK(found.url == "https://s3.eu-south-2.amazonaws.com/");
    CHECK(found.folder->folders == std::vector<std::string>{"b.c_D-9", "runs"});
    CHECK(found.folder->files.empty());
    CHECK(listed(answered(200, some), true, "http://127.0.0.1:9/s3").url == "http://127.0.0.1:9/s3/");
    CHECK(listed(answered(200, answerWith(""))).folder->folders.empty());
}

TEST_CASE("names of buckets that are none are left out, and answers that are none are hostile")
{
    std::string names = bucket("..") + bucket("") + bucket("a/b") + bucket("-x") + bucket("a\x1b[31m");
    names += "<Bucket/>" + bucket("good") + bucket(std::string(300, 'b'));
    CHECK(listed(answered(200, answerWith(names))).folder->folders == std::vector<std::string>{"good"});
    for (const char* body : {"", "no XML <", "<ListBucketResult/>", "<html><body/></html>"}) {
        const Listed found = listed(answered(200, body));
        REQUIRE_FALSE(found.folder);
        CHECK(found.folder.error().code == ErrorCode::Hostile);
        CHECK(found.folder.error().path == "s3://");
    }
}

TEST_CASE("a store that does not list its buckets says why, and what to do")
{
    const auto says = [](const Listed& found, const std::string& message, const std::string& hint) {
        REQUIRE_FALSE(found.folder);
        const Error& error = found.folder.error();
        CHECK(error.code == ErrorCode::Unreadable);
        CHECK(error.path == "s3://");
        CHECK_MESSAGE(error.message.find(message) != std::string::npos, error.message);
        CHECK_MESSAGE(error.hint.text.find(hint) != std::string::npos, error.hint.text);
    };
    says(listed(refusal(403, "AccessDenied")), "does not list its buckets", "s3:ListAllMyBuckets");
    says(listed(refusal(403, "SignatureDoesNotMatch")), "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY");
    says(listed(answered(307), false), "does not list its buckets", "AWS_PROFILE");
    says(listed(refusal(403, "AccessDenied"), false), "does not list its buckets", "AWS_PROFILE");
    says(listed(refusal(500, "InternalError")), "answers 500", "");
    HttpAnswer none;
    none.failed = Error{ErrorCode::Unreadable, "it cannot be reached", {}, {}};
    says(listed(none, false), "cannot be reached", "");
}

} // namespace shardscope
