// SPDX-License-Identifier: Apache-2.0
#include "tests/ui/ui_tests.h"

#include "tests/ui/support_asserts.h"

#include <QApplication>
#include <QFile>
#include <QTemporaryDir>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

namespace shardscope {

namespace {

struct Entry {
    UiApplication application = UiApplication::WithDisplay;
    UiTestEntry::Make make = nullptr;
};

std::map<std::string, Entry>& entries()
{
    static std::map<std::string, Entry> all;
    return all;
}

std::unique_ptr<QCoreApplication> makeApplication(UiApplication kind, int& argc, char** argv)
{
    if (kind == UiApplication::None) {
        return nullptr;
    }
    if (kind == UiApplication::CoreOnly) {
        return std::make_unique<QCoreApplication>(argc, argv);
    }
    return std::make_unique<QApplication>(argc, argv);
}

int usage(const char* program)
{
    std::fprintf(stderr, "usage: %s NAME [argument of Qt Test...]\nNames:\n", program);
    for (const auto& [name, entry] : entries()) {
        std::fprintf(stderr, "  %s\n", name.c_str());
    }
    return 2;
}

} // namespace

UiTestEntry::UiTestEntry(const char* name, UiApplication application, Make make)
{
    entries()[name] = {application, make};
}

int runUiTest(int argc, char** argv)
{
    const auto found = argc < 2 ? entries().end() : entries().find(argv[1]);
    if (found == entries().end()) {
        return usage(argc > 0 ? argv[0] : "test_ui");
    }
    // Qt Test sees the program's name, then its own arguments.
    argv[1] = argv[0];
    --argc;
    ++argv;
    const std::unique_ptr<QCoreApplication> application
        = makeApplication(found->second.application, argc, argv);
    if (application) {
        application->setAttribute(Qt::AA_Use96Dpi, true);
    }
    const std::unique_ptr<QObject> test = found->second.make();
    return QTest::qExec(test.get(), argc, argv);
}

} // namespace shardscope

int main(int argc, char** argv)
{
    shardscope::test::endProgramOnFailedAssertion();
    const QTemporaryDir cache; // not the user's
    qputenv("XDG_CACHE_HOME", QFile::encodeName(cache.path()));
    return shardscope::runUiTest(argc, argv);
}
