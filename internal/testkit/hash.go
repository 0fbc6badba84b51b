package testkit

import (
	"flag"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"testing"
)

var answers = flag.String("answers", "", "write the answers of which only hashes are on file into this folder")

// Hash32 returns a hash for the answers of one part of a test, such as a seed, where only the hash goes into a file ([Golden]). With
// -answers the answers themselves go into a file named after the test and the part. The golden file of the test has a file of lines beside it,
// by which a changed hash shows the lines that changed.
func Hash32(t testing.TB, part any) hash.Hash32 {
	t.Helper()
	return hash32{fnv.New32a(), behind(t, part)}
}

// Hash64 is Hash32 with 64 bits.
func Hash64(t testing.TB, part any) hash.Hash64 {
	t.Helper()
	return hash64{fnv.New64a(), behind(t, part)}
}

type (
	hash32 struct {
		hash.Hash32
		also io.Writer
	}
	hash64 struct {
		hash.Hash64
		also io.Writer
	}
)

func (h hash32) Write(p []byte) (int, error) { return io.MultiWriter(h.Hash32, h.also).Write(p) }
func (h hash64) Write(p []byte) (int, error) { return io.MultiWriter(h.Hash64, h.also).Write(p) }

// behind returns where the answers behind a hash go.
func behind(t testing.TB, part any) io.Writer {
	t.Helper()
	kept := keep(t, fmt.Sprint(part))
	if *answers == "" {
		return kept
	}
	file := appended(filepath.Join(*answers, filepath.FromSlash(t.Name()), fmt.Sprint(part)+".txt"))
	if err := os.MkdirAll(filepath.Dir(string(file)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(string(file), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return io.MultiWriter(kept, file)
}

// appended is a file that is open only while something is written to it: a test may have a thousand.
type appended string

func (file appended) Write(p []byte) (n int, err error) {
	f, err := os.OpenFile(string(file), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	n, err = f.Write(p)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return n, err
}
