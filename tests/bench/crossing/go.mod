module crossing

go 1.26
