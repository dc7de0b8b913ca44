// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/pickle/pickle_machine_opcodes.h"

#include <array>

namespace shardscope {

namespace {

struct NamedOpcode {
    Opcode code;
    std::string_view name;
};

constexpr NamedOpcode kOpcodes[] = {
    {Opcode::Mark, "MARK"},
    {Opcode::Stop, "STOP"},
    {Opcode::Pop, "POP"},
    {Opcode::PopMark, "POP_MARK"},
    {Opcode::Dup, "DUP"},
    {Opcode::Float, "FLOAT"},
    {Opcode::Int, "INT"},
    {Opcode::BinInt, "BININT"},
    {Opcode::BinInt1, "BININT1"},
    {Opcode::Long, "LONG"},
    {Opcode::BinInt2, "BININT2"},
    {Opcode::None, "NONE"},
    {Opcode::PersId, "PERSID"},
    {Opcode::BinPersId, "BINPERSID"},
    {Opcode::Reduce, "REDUCE"},
    {Opcode::String, "STRING"},
    {Opcode::BinString, "BINSTRING"},
    {Opcode::ShortBinString, "SHORT_BINSTRING"},
    {Opcode::Unicode, "UNICODE"},
    {Opcode::BinUnicode, "BINUNICODE"},
    {Opcode::Append, "APPEND"},
    {Opcode::Build, "BUILD"},
    {Opcode::Global, "GLOBAL"},
    {Opcode::Dict, "DICT"},
    {Opcode::EmptyDict, "EMPTY_DICT"},
    {Opcode::Appends, "APPENDS"},
    {Opcode::Get, "GET"},
    {Opcode::BinGet, "BINGET"},
    {Opcode::Inst, "INST"},
    {Opcode::LongBinGet, "LONG_BINGET"},
    {Opcode::List, "LIST"},
    {Opcode::EmptyList, "EMPTY_LIST"},
    {Opcode::Obj, "OBJ"},
    {Opcode::Put, "PUT"},
    {Opcode::BinPut, "BINPUT"},
    {Opcode::LongBinPut, "LONG_BINPUT"},
    {Opcode::SetItem, "SETITEM"},
    {Opcode::Tuple, "TUPLE"},
    {Opcode::EmptyTuple, "EMPTY_TUPLE"},
    {Opcode::SetItems, "SETITEMS"},
    {Opcode::BinFloat, "BINFLOAT"},
    {Opcode::Proto, "PROTO"},
    {Opcode::NewObj, "NEWOBJ"},
    {Opcode::Ext1, "EXT1"},
    {Opcode::Ext2, "EXT2"},
    {Opcode::Ext4, "EXT4"},
    {Opcode::Tuple1, "TUPLE1"},
    {Opcode::Tuple2, "TUPLE2"},
    {Opcode::Tuple3, "TUPLE3"},
    {Opcode::NewTrue, "NEWTRUE"},
    {Opcode::NewFalse, "NEWFALSE"},
    {Opcode::Long1, "LONG1"},
    {Opcode::Long4, "LONG4"},
    {Opcode::BinBytes, "BINBYTES"},
    {Opcode::ShortBinBytes, "SHORT_BINBYTES"},
    {Opcode::ShortBinUnicode, "SHORT_BINUNICODE"},
    {Opcode::BinUnicode8, "BINUNICODE8"},
    {Opcode::BinBytes8, "BINBYTES8"},
    {Opcode::EmptySet, "EMPTY_SET"},
    {Opcode::AddItems, "ADDITEMS"},
    {Opcode::FrozenSet, "FROZENSET"},
    {Opcode::NewObjEx, "NEWOBJ_EX"},
    {Opcode::StackGlobal, "STACK_GLOBAL"},
    {Opcode::Memoize, "MEMOIZE"},
    {Opcode::Frame, "FRAME"},
    {Opcode::ByteArray8, "BYTEARRAY8"},
    {Opcode::NextBuffer, "NEXT_BUFFER"},
    {Opcode::ReadonlyBuffer, "READONLY_BUFFER"},
};

/// By byte; the machine looks up every opcode that is not about its stack or memo.
constexpr std::array<std::string_view, 256> kNames = [] {
    std::array<std::string_view, 256> names{};
    for (const NamedOpcode& opcode : kOpcodes)
        names[static_cast<uint8_t>(opcode.code)] = opcode.name;
    return names;
}();

} // namespace

std::string_view opcodeName(uint8_t byte)
{
    return kNames[byte];
}

} // namespace shardscope
