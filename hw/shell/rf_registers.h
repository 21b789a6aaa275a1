// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Control registers of every machine: byte addresses, masks and lowest bits of fields. Made from
// hw/shell/registers.json (edit that file) by `python -m ringforge.hw.core.registers`.
#ifndef RINGFORGE_REGISTERS_H
#define RINGFORGE_REGISTERS_H

#define RF_MAP_VERSION 2u
#define RF_REG_COUNTER(n) (0x0c0u + 8u * (n))
#define RF_REG_OWN 0x100u

#define RF_REG_CTRL 0x000u
#define RF_CTRL_START_LSB 0
#define RF_CTRL_START 0x1u
#define RF_CTRL_DONE_LSB 1
#define RF_CTRL_DONE 0x2u
#define RF_CTRL_IDLE_LSB 2
#define RF_CTRL_IDLE 0x4u
#define RF_CTRL_READY_LSB 3
#define RF_CTRL_READY 0x8u
#define RF_REG_GIE 0x004u
#define RF_GIE_ENABLE_LSB 0
#define RF_GIE_ENABLE 0x1u
#define RF_REG_IER 0x008u
#define RF_IER_DONE_LSB 0
#define RF_IER_DONE 0x1u
#define RF_IER_READY_LSB 1
#define RF_IER_READY 0x2u
#define RF_REG_ISR 0x00cu
#define RF_ISR_DONE_LSB 0
#define RF_ISR_DONE 0x1u
#define RF_ISR_READY_LSB 1
#define RF_ISR_READY 0x2u
#define RF_REG_ID 0x010u
#define RF_REG_VERSION 0x014u
#define RF_REG_COMMAND 0x018u
#define RF_COMMAND_RESET_LSB 0
#define RF_COMMAND_RESET 0x1u
#define RF_COMMAND_ABORT_LSB 1
#define RF_COMMAND_ABORT 0x2u
#define RF_REG_STATUS 0x01cu
#define RF_STATUS_BUSY_LSB 0
#define RF_STATUS_BUSY 0x1u
#define RF_STATUS_DONE_LSB 1
#define RF_STATUS_DONE 0x2u
#define RF_STATUS_ERROR_LSB 2
#define RF_STATUS_ERROR 0x4u
#define RF_STATUS_ABORTED_LSB 3
#define RF_STATUS_ABORTED 0x8u
#define RF_STATUS_DRAINING_LSB 4
#define RF_STATUS_DRAINING 0x10u
#define RF_REG_ERROR 0x020u
#define RF_ERROR_CODE_LSB 0
#define RF_ERROR_CODE 0xffu
#define RF_ERROR_ELEMENT_LSB 8
#define RF_ERROR_ELEMENT 0xff00u
#define RF_REG_PC 0x024u
#define RF_REG_PROGRAM 0x028u
#define RF_REG_PROGRAM_HIGH 0x02cu
#define RF_REG_STRIDE 0x030u
#define RF_REG_CYCLES 0x034u
#define RF_REG_CYCLES_HIGH 0x038u
#define RF_REG_SHAPE 0x03cu
#define RF_REG_RANGE 0x040u
#define RF_REG_WATCHDOG 0x044u
#define RF_REG_WATCHDOG_HIGH 0x048u
#define RF_REG_PORTS 0x04cu
#define RF_PORTS_COUNT_LSB 0
#define RF_PORTS_COUNT 0xffu
#define RF_PORTS_LOG_BYTES_LSB 8
#define RF_PORTS_LOG_BYTES 0xff00u
#define RF_PORTS_COUNTERS_LSB 16
#define RF_PORTS_COUNTERS 0xff0000u
#define RF_REG_READ_BEATS 0x080u
#define RF_REG_READ_BEATS_HIGH 0x084u
#define RF_REG_WRITE_BEATS 0x088u
#define RF_REG_WRITE_BEATS_HIGH 0x08cu
#define RF_REG_READ_WAITS 0x090u
#define RF_REG_READ_WAITS_HIGH 0x094u
#define RF_REG_WRITE_WAITS 0x098u
#define RF_REG_WRITE_WAITS_HIGH 0x09cu

#define RF_CODE_BUS 6u  // bus error: a memory port was answered with an error, or against the protocol
#define RF_CODE_WATCHDOG 7u  // not done within the watchdog's cycles
#define RF_CODE_ABORTED 8u  // aborted by the host

#endif
