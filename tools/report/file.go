package report

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file whole or not at all: a reader never sees half of it. write gets the content's writer; its error leaves the
// file as it was. The file gets the permissions of mode. A path that is no file, such as a pipe or /dev/null, is written to as it is.
func WriteFile(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// WriteText is [WriteFile] of a text.
func WriteText(path string, mode fs.FileMode, text string) error {
	return WriteFile(path, mode, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
