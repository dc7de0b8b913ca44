// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/tensor_page.h"

#include <QFile>

#include <memory>

namespace shardscope::ui {

/// Shows one state of a parameter on the tensor page.
inline bool showTensor(WindowFixture& ui, const char* name, const char* state)
{
    const auto param = ui.checkpoint()->findParam(name);
    if (!param || !ui.window().showPage(QStringLiteral("tensor")))
        return false;
    SelectedThing thing;
    thing.param = *param;
    thing.state = state;
    ui.window().selection().select(thing);
    return ui.settle();
}

/// A tensor page without a window, and what it is made with.
struct OwnTensorPage {
    explicit OwnTensorPage(WindowFixture& ui, io::FileSystem& files = io::realFileSystem())
        : session(files)
        , compareRun(files)
        , checkRun(files)
        , page({session, session.selection(), compareRun, findings, ui.settings(), ui.theme()})
    {
        page.resize(900, 700);
        page.show();
    }
    void show(const CheckpointPtr& checkpoint)
    {
        session.showAgain({{}, checkpoint, nullptr}, {});
        page.showSession();
    }

    Session session;
    CompareRun compareRun;
    CheckRun checkRun;
    FindingStore findings{checkRun};
    TensorPage page;
};

/// One tensor of 4 GiB in a sparse file.
inline CheckpointPtr hugeCheckpoint(const QString& path)
{
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || !file.resize(qint64{4} << 30))
        return nullptr;
    auto out = std::make_shared<Checkpoint>();
    CheckpointFile stored;
    stored.path = path.toStdString();
    stored.name = "huge.pt";
    out->files.push_back(stored);
    Parameter param;
    param.name = "huge.weight";
    param.shape = {32768, 32768};
    param.elements = uint64_t{1} << 30;
    param.role = ParamRole::Buffer;
    out->params.push_back(param);
    out->paramByName.emplace("huge.weight", ParamId{0});
    WholeTensor tensor;
    tensor.param = ParamId{0};
    tensor.run = {FileId{0}, 0, 0, param.elements};
    out->whole.push_back(tensor);
    out->fullyRead = true;
    return out;
}

} // namespace shardscope::ui
